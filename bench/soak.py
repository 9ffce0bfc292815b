"""Ends runs in every way that a long life brings, and counts what is lost: nothing may be.

Run it for an hour: `.venv/bin/python bench/soak.py [--minutes 60] [--seed 0]`.
One run after the other is started, killed, interrupted, started twice at once, left without space on its disk, left by
its device and told nonsense by it, and resumed each time, until it is let finish. Every block that was once in the
saved results must be there from then on as it was, with its trace; nothing of a run that ended may still be running,
and nothing may end with a traceback.
"""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from etprof.core.layout import METRICS
from etprof.core.plan import Plan
from etprof.store.plan_file import save_plan
from etprof.store.session_file import has_session, load_session
from etprof.store.validate import find_problems
from scripted_device import a_runnable_plan
from scripted_etprof import TALLY, find_processes, start_etprof

_KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_LOOK_EVERY_S = 0.02
_LONGEST_S = 120.0
# How long what was killed may take to be gone.
PATIENCE_S = 20.0
_DISK = "size=3m"
Kept = dict[tuple[str, int], tuple[object, str]]


@dataclass
class Soak:
    """Its tally is what happened; `lost` says what may not have."""

    lot: Random
    seed: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def live(self, folder: Path) -> None:
        """One run from its first start to its end."""
        with _disk(folder) as has_disk:
            life = Life(self, _a_plan(folder, self.lot), folder, has_disk=has_disk)
            for _ in range(self.lot.randrange(2, 7)):
                life.suffer()
            life.finish()
        self.counts["runs finished"] += 1
        self.counts["blocks saved"] += len(life.kept)


@dataclass
class Life:
    soak: Soak
    plan: Plan
    folder: Path
    has_disk: bool
    kept: Kept = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lot, self.count = self.soak.lot, self.soak.counts
        self.device = self.folder / "device"
        self.device.mkdir()
        self.is_remote = self.lot.random() < 0.4
        save_plan(self.folder / "plan.json", self.plan)

    def suffer(self) -> None:
        """One start, and one thing that goes wrong with it."""
        trouble = self.lot.choice(("kill", "kill", "kill", "twice", "disk" if self.has_disk else "kill", "none"))
        process = self._start(well=self.lot.random() < 0.5)
        if trouble == "twice":
            self.count["two at once"] += 1
            other = self._start(well=True)
            self._watch(other, self._some_time(), self.lot.choice((None, *_KILLS)))
        if trouble == "disk":
            self._fill_disk(process)
        self._watch(process, self._some_time(), self.lot.choice(_KILLS) if trouble != "none" else None)
        self.check()

    def finish(self) -> None:
        """Without any trouble it ends, with every block, and each that was saved before as it was."""
        code = self._watch(self._start(well=True), 0.0, None)
        self.check()
        session = load_session(self.plan.output_root)
        if code != 0 or not session.stop_reason or not all(result.is_ok for result in session.results):
            self._lose(f"it was not finished: exit code {code}, {[r.error for r in session.results if r.error]}")
        self.soak.lost += [f"{self.folder}: {problem}" for problem in find_problems(self.plan.output_root)]
        tally = self.device / TALLY
        told = Counter(tally.read_text().split()) if tally.exists() else Counter[str]()
        self.count.update({"connections lost": told["cut"], "hostile answers": told["lie"]})

    def _start(self, *, well: bool) -> "subprocess.Popen[str]":
        local, remote = ("scripted", f"scripted:shell:{self.device}") if well else (
            "scripted:flaky", f"scripted:unreliable:{self.device}",
        )  # fmt: skip
        resume = ["--resume"] if self.plan.output_root.is_dir() else []
        self.count["starts"] += 1
        return start_etprof("run", self.folder / "plan.json", "--device", remote if self.is_remote else local, *resume)

    def _some_time(self) -> float:
        return self.lot.choice((self.lot.uniform(0, 0.5), self.lot.uniform(0.5, 3)))

    def _watch(self, process: "subprocess.Popen[str]", after_s: float, kill: signal.Signals | None) -> int:
        """Looks at what is saved until the process has ended, by a signal after a while or by itself."""
        began = time.monotonic()
        while process.poll() is None:
            if kill and time.monotonic() - began > after_s:
                self.count[f"ended by {kill.name}"] += 1
                process.send_signal(kill)
                kill = None
            if time.monotonic() - began > _LONGEST_S:
                self._lose("it did not end")
                process.kill()
            self._remember()
            time.sleep(_LOOK_EVERY_S)
        said = process.communicate()[1]
        # Before the command begins, an interrupt is Python's own matter.
        if "Traceback" in said and "cli/main.py" in said:
            self._lose(f"it ended with a traceback:\n{said}")
        return process.returncode

    def _fill_disk(self, process: "subprocess.Popen[str]") -> None:
        self.count["full disks"] += 1
        time.sleep(self._some_time())
        filler = self.plan.output_root.parent / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        deadline = time.monotonic() + self._some_time()
        while process.poll() is None and time.monotonic() < deadline:
            self._remember()
            time.sleep(_LOOK_EVERY_S)
        filler.unlink()

    def _remember(self) -> None:
        """What is in the saved results from now on may never be gone. No lock is needed to read them."""
        try:
            results = json.loads((self.plan.output_root / METRICS).read_bytes())["results"]
        except FileNotFoundError:
            return
        for result in results:
            if not result["error"] and (key := (result["experiment"], result["index"])) not in self.kept:
                self.kept[key] = result, _digest(self.plan.output_root / result["etdump"])

    def check(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (left := find_processes(self.plan.output_root)) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
        if left:
            self._lose(f"{len(left)} processes are still running")
        if not has_session(self.plan.output_root):
            if self.kept:
                self._lose("the session is gone")
            return
        load_session(self.plan.output_root)
        before = dict(self.kept)
        self.kept.clear()
        self._remember()
        for key, block in before.items():
            if self.kept.get(key) != block:
                self._lose(f"block {key} is {'another' if key in self.kept else 'gone'}")

    def _lose(self, what: str) -> None:
        self.soak.lost.append(f"{self.folder.name}: {what}")


def _a_plan(folder: Path, lot: Random) -> Plan:
    plan = a_runnable_plan(folder, blocks=lot.randrange(2, 9), timeout_s=10.0)
    return replace(plan, output_root=folder / "disk" / "run")


@contextmanager
def _disk(folder: Path) -> Iterator[bool]:
    """A small file system for the run where this user may mount one; whether it is there."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", _DISK, "tmpfs", str(disk)]
    has_disk = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield has_disk
    finally:
        if has_disk:
            # Also where something of a run that went wrong is still there.
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def soak(minutes: float, seed: int) -> Soak:
    done, until = Soak(Random(seed), seed), time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        number = 0
        while time.monotonic() < until and not done.lost:
            folder = Path(scratch) / str(number)
            folder.mkdir()
            done.live(folder)
            number += 1
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done = soak(options.minutes, options.seed)
    sys.stdout.write(render(done, options.minutes) + "\n")
    return 1 if done.lost else 0


def render(done: Soak, minutes: float) -> str:
    lines = [
        f"{minutes:g} minutes, seed {done.seed}",
        *(f"{count:>8,} {what}" for what, count in sorted(done.counts.items())),
    ]
    return "\n".join([*lines, f"{len(done.lost):>8,} blocks, processes or runs lost", *done.lost])


if __name__ == "__main__":
    raise SystemExit(main())
