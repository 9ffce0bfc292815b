"""What a fleet costs beyond its runs: many plans with recorded answers over many slots, and workers that are killed.

Usage: python bench/fleet.py [--plans 1000] [--workers 8] [--devices 4] [--kills 3] [--seed 0]
A scheduler that Dask's own command starts, workers in processes of their own with a recording in place of each device,
and this process as the client. The cost of scheduling is the CPU time that scheduler and client spend on a plan beyond
checking the run that arrived; the limit of the documentation is 50 ms. The memory of both may not grow with the number
of plans, and every run must arrive, once.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from etprof.app.fleet import runs as fleet_runs
from etprof.app.fleet.arrivals import take_in
from etprof.app.fleet.runs import FleetRequest, Gathering, gather_runs
from etprof.app.fleet.words import FleetWords
from etprof.core.fleet import JobAnswer
from etprof.store.plan_file import save_plan
from etprof.store.session_file import load_session
from fleet_etprof import TestFleet, running_fleet
from scripted_device import a_recording, a_runnable_plan

LIMIT_S = 0.05
# What Python and Dask allocate once, and their buffers, are there by then.
_SETTLED = 0.2
_MOST_GROWTH = 0.25


@dataclass
class Tally:
    """What is measured on the way; `memory` has the client's and the scheduler's bytes after each arrival."""

    scheduler: psutil.Process
    checking_s: float = 0.0
    memory: list[tuple[int, int]] = field(default_factory=list)
    spans: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        def timed(*arrival: object) -> int:
            began_s = time.thread_time()
            failed = take_in(*arrival)  # type: ignore[arg-type]
            self.checking_s += time.thread_time() - began_s
            self._note(arrival)
            return failed

        fleet_runs.__dict__["take_in"] = timed
        try:
            yield
        finally:
            fleet_runs.__dict__["take_in"] = take_in

    def _note(self, arrival: tuple[object, ...]) -> None:
        device, answer = arrival[2], arrival[3]
        assert isinstance(answer, JobAnswer)
        self.spans.setdefault(str(device), []).append((answer.started_s, answer.ended_s))
        self.memory.append((psutil.Process().memory_info().rss, self.scheduler.memory_info().rss))

    def spent_s(self) -> float:
        """CPU time of client and scheduler."""
        used = self.scheduler.cpu_times()
        return time.process_time() + float(used.user + used.system)

    def growth(self) -> tuple[float, float]:
        """Of client and scheduler, from when they had settled to the end, as shares."""
        settled = self.memory[int(len(self.memory) * _SETTLED)]
        client, scheduler = (last / first - 1 for first, last in zip(settled, self.memory[-1], strict=True))
        return client, scheduler


@dataclass(frozen=True)
class Outcome:
    plans: int
    kills: int
    arrived: int
    wall_s: float
    cost_s: float
    checking_s: float
    run_s: float
    growth: tuple[float, float]
    problems: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        few = self.plans < 200
        return not self.problems and self.cost_s < LIMIT_S and (few or max(self.growth) < _MOST_GROWTH)


@dataclass(frozen=True)
class Setting:
    plans: int
    workers: int = 8
    devices: int = 4
    kills: int = 3
    seed: int = 0


def measure(folder: Path, setting: Setting) -> Outcome:
    recording = a_recording(folder / "recorded").folder
    save_plan(folder / "plan.json", a_runnable_plan(folder, blocks=2))
    offered = [[f"recorded:{recording}#{w}-{d}" for d in range(setting.devices)] for w in range(setting.workers)]
    with running_fleet(folder / "fleet") as fleet:
        for names in offered:
            fleet.start_worker(*names)
        assert fleet.scheduler is not None  # it was started
        tally = Tally(psutil.Process(fleet.scheduler.pid))
        request = FleetRequest(
            folder / "out", fleet.address, anywhere=True, repeat=setting.plans, command="bench", wait=True
        )
        began_s, before_s = time.monotonic(), tally.spent_s()
        with tally.watching(), killing(fleet, offered, tally, setting):
            gathered = gather_runs([folder / "plan.json"], request, FleetWords(lambda _: None))
        wall_s, spent_s = time.monotonic() - began_s, tally.spent_s() - before_s
    took = [end - start for spans in tally.spans.values() for start, end in spans]
    return Outcome(
        plans=setting.plans,
        kills=setting.kills,
        arrived=len(tally.memory),
        wall_s=wall_s,
        cost_s=(spent_s - tally.checking_s) / setting.plans,
        checking_s=tally.checking_s / setting.plans,
        run_s=median(took),
        growth=tally.growth(),
        problems=tuple(_find_problems(gathered, folder / "out", setting.plans)),
    )


@contextmanager
def killing(fleet: TestFleet, offered: list[list[str]], tally: Tally, setting: Setting) -> Iterator[None]:
    """Meanwhile kills workers at random moments, and starts each again."""
    lot, ended = Random(setting.seed), threading.Event()
    moments = sorted(lot.uniform(0.1, 0.8) * setting.plans for _ in range(setting.kills))
    numbers = lot.sample(range(len(offered)), setting.kills)

    def kill() -> None:
        for moment, number in zip(moments, numbers, strict=True):
            while len(tally.memory) < moment and not ended.wait(0.05):
                pass
            if not ended.is_set():
                fleet.workers[number].kill()
                fleet.workers[number].wait()
                fleet.start_worker(*offered[number])

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        ended.set()
        killer.join()


def _find_problems(gathered: Gathering, out: Path, plans: int) -> Iterator[str]:
    yield from (f"{result.job.folder}: {result.reason}" for result in gathered.results.values() if result.reason)
    folders = {path.parent for path in out.glob("*/*/manifest.json")}
    if len(folders) != plans:
        yield f"{len(folders)} folders, not {plans}"
    blocks = [len(load_session(folder).results) for folder in folders]
    if set(blocks) != {4}:
        yield f"runs of {sorted(set(blocks))} blocks, not of 4"
    yield from (f"{path} was left" for path in out.glob("*/.*"))


def render(done: Outcome) -> str:
    client, scheduler = done.growth
    return "\n".join(
        [
            f"{done.plans} plans, {done.kills} workers killed: {done.arrived} runs arrived in {done.wall_s:.1f} s",
            f"scheduling: {done.cost_s * 1000:.1f} ms of CPU a plan (limit {LIMIT_S * 1000:.0f} ms)",
            f"checking a run on arrival: {done.checking_s * 1000:.1f} ms; a run took {done.run_s * 1000:.0f} ms",
            f"memory from a fifth of the plans to the end: client {client:+.1%}, scheduler {scheduler:+.1%}",
            *done.problems,
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("plans", 1000), ("workers", 8), ("devices", 4), ("kills", 3), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        done = measure(Path(folder), Setting(**vars(given)))
    sys.stdout.write(render(done) + "\n")
    return 0 if done.is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
