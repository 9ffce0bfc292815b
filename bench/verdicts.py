"""Measures what the statistics claim: false alarms, false equality, found differences, covered truths.

Run it on a machine that does nothing else: `.venv/bin/python bench/verdicts.py [--real 20] [--simulated 400]`.
The real part runs a small CNN against itself and against a copy with one more operator, blocks interleaved.
The recorded part keeps one run of nothing against itself, draws rounds from it by lot, plants a busy loop in one
variant and goes through the whole pipeline. The simulated part has the noise that the real part showed, and for false
equality that of a machine whose blocks spread by 30 % and by just as much as the equivalence bound.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import exp
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.speedup import estimate_speedup, judge, measure_noise_floor
from etprof.app.devices import DeviceRequest, open_device
from etprof.app.measuring import run_plan
from etprof.app.progress import RunCounter
from etprof.app.reporting import analyze
from etprof.app.schedule import reason_to_stop
from etprof.core.estimates import Interval, Verdict
from etprof.core.plan import Experiment, Pair, Plan, Schedule
from etprof.devices.recorded import RecordedDevice
from etprof.runner.build import ensure_runner
from etprof.store.session_file import load_session
from slowed_device import SlowedDevice, draw_rounds

# What `etprof profile` does: rounds are added until the interval is narrow enough.
SCHEDULE = Schedule(max_blocks=24, retries=0)
# The spread of block medians on a machine at rest, where none was measured.
QUIET_SPREAD = 0.007
# Recorded rounds to draw from.
ROUNDS = 30
Variants = tuple[NDArray[np.float64], NDArray[np.float64]]
NOBODY = RunCounter(lambda done, total, text: None)
_MODEL = """
import torch
from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model

class Net(torch.nn.Module):
    def __init__(self, extra):
        super().__init__()
        self.body = torch.nn.Sequential(*[torch.nn.Conv2d(32, 32, 3, padding=1) for _ in range(8)])
        self.extra = torch.nn.Conv2d(32, 32, 1) if extra else torch.nn.Identity()
    def forward(self, x):
        return self.extra(self.body(x))

class Model(EagerModelBase):
    extra = EXTRA
    def get_eager_model(self):
        torch.manual_seed(0)
        return Net(self.extra).eval()
    def get_example_inputs(self):
        return (torch.randn(1, 32, 48, 48, generator=torch.Generator().manual_seed(0)),)

register_model("NAME", Model)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", type=int, default=20, help="real schedules of each kind; 0: only simulate")
    parser.add_argument("--recorded", type=int, default=200, help="schedules of each kind drawn from a recording")
    parser.add_argument("--simulated", type=int, default=400, help="simulated schedules of each kind")
    options = parser.parse_args()
    noise = QUIET_SPREAD
    if options.real:
        with tempfile.TemporaryDirectory() as folder:
            noise = report_real(Path(folder), options.real)
            report_recorded(Path(folder), options.recorded)
    report_simulated(noise, options.simulated)


def report_real(folder: Path, count: int) -> float:
    """Prints the verdicts on real schedules; returns the spread of a block's median, drift taken out."""
    plain, more = (export(folder, name, extra) for name, extra in (("plain", False), ("one_more", True)))
    against_itself = [run_schedule(plain, plain, folder) for _ in range(count)]
    against_more = [run_schedule(plain, more, folder) for _ in range(count)]
    say("real, nothing against itself", [decide(variants, i) for i, variants in enumerate(against_itself)], truth=1.0)
    say("real, one more operator", [decide(variants, i) for i, variants in enumerate(against_more)])
    cost = np.median([np.median(c) / np.median(b) for b, c in against_more]) - 1
    spread = float(
        np.median([np.std(np.diff(np.log(variant))) / 2**0.5 for variants in against_itself for variant in variants])
    )
    sys.stdout.write(f"one more operator costs {cost:.1%}; a block's median spreads by {spread:.2%}\n")
    return spread


def report_recorded(folder: Path, count: int) -> None:
    """Prints the verdicts of the whole pipeline on a recording of this machine, with and without a busy loop."""
    variants = (Experiment("plain"), Experiment("again"))
    model = folder / "plain" / "plain_xnnpack_fp32.pte"
    schedule = Schedule(blocks=ROUNDS, max_blocks=ROUNDS, retries=0)
    plan = Plan(model, folder / "recording", variants, (Pair("plain", "again"),), schedule)
    with open_device(DeviceRequest("local")) as opened, opened.take_turn():
        run_plan(plan, opened.device, NOBODY, command="bench")
    recording = RecordedDevice(plan.output_root, load_session(plan.output_root))
    plan = replace(plan, schedule=SCHEDULE)
    for what, share in (("nothing against itself", 0.0), ("a busy loop of 3 %", 0.03)):
        rng = np.random.default_rng(0)
        decided = []
        for i in range(count):
            device = SlowedDevice(recording, draw_rounds(rng, ROUNDS, SCHEDULE.max_blocks), "again", share)
            decided.append(replay_schedule(plan, device, folder / f"replay_{share}_{i}"))
        say(f"recorded, {what}", decided, truth=1 / (1 + share))


def replay_schedule(plan: Plan, device: SlowedDevice, folder: Path) -> tuple[Verdict, Interval | None]:
    run_plan(replace(plan, output_root=folder), device, NOBODY, command="bench")
    (comparison,) = analyze(folder).report.comparisons
    shutil.rmtree(folder)
    return comparison.verdict, comparison.speedup


def report_simulated(noise: float, count: int) -> None:
    rng = np.random.default_rng(0)

    def many(
        truth: float, drift: float = 0.0, interleaved: bool = True, spread: float = noise
    ) -> list[tuple[Verdict, Interval | None]]:
        return [decide(simulate(rng, truth, spread, drift, interleaved), i) for i in range(count)]

    say("simulated, nothing against itself", many(1.0), truth=1.0)
    say("simulated, 3 % slower", many(1 / 1.03), truth=1 / 1.03)
    say("simulated, 90 % faster", many(1.9), truth=1.9)
    say("simulated, drifting 1 % a block, interleaved", many(1.0, 0.01), truth=1.0)
    say("simulated, drifting 1 % a block, one after the other", many(1.0, 0.01, interleaved=False), truth=1.0)
    bound = SCHEDULE.equivalence_bound
    for spread in (0.30, 0.05, bound, noise):
        for truth in (1.15, 1 + 1.01 * bound):
            say(f"simulated, {truth:.4g}x, blocks spreading by {spread:.1%}", many(truth, spread=spread), truth)


def simulate(rng: np.random.Generator, truth: float, noise: float, drift: float, interleaved: bool) -> Variants:
    """Block medians of an adaptive schedule, or of a fixed one whose variants run one after the other."""
    rounds = SCHEDULE.max_blocks if interleaved else SCHEDULE.blocks
    turns = [turn for i in range(rounds) for turn in ("bc" if i % 2 == 0 else "cb")]
    times: dict[str, list[float]] = {"b": [], "c": []}
    for when, variant in enumerate(turns if interleaved else sorted(turns)):
        times[variant].append(exp(rng.normal(0.0, noise) + drift * when) / (truth if variant == "c" else 1.0))
    used = rounds
    if interleaved:
        used = next(n for n in range(1, rounds + 1) if is_enough(times["b"][:n], times["c"][:n]))
    return np.array(times["b"][:used]), np.array(times["c"][:used])


def is_enough(baseline: list[float], candidate: list[float]) -> bool:
    ratios = np.log(np.array(baseline) / np.array(candidate))
    plan = Plan(Path(), Path(), (), (), SCHEDULE)
    return bool(reason_to_stop(plan, len(ratios), [estimate_speedup(ratios, SCHEDULE.seed)], fits=True))


def decide(variants: Variants, seed: int) -> tuple[Verdict, Interval | None]:
    speedup = estimate_speedup(np.log(variants[0] / variants[1]), seed)
    floor = measure_noise_floor(variants, seed)
    return judge(speedup, floor, len(variants[0]), SCHEDULE.equivalence_bound)[0], speedup


def say(what: str, decided: Sequence[tuple[Verdict, Interval | None]], truth: float | None = None) -> None:
    counts = Counter(verdict.value for verdict, _ in decided)
    line = f"{what}, {len(decided)} schedules: " + ", ".join(f"{n} {v}" for v, n in counts.most_common())
    counted = Counter(verdict for verdict, _ in decided)
    if truth == 1.0:
        line += f"; false alarms {(counted[Verdict.FASTER] + counted[Verdict.SLOWER]) / len(decided):.1%}"
    elif truth is not None and max(truth, 1 / truth) - 1 > SCHEDULE.equivalence_bound:
        line += f"; false equality {counted[Verdict.NO_DIFFERENCE] / len(decided):.1%}"
    if truth is not None:
        covered = sum(s is not None and s.low <= truth <= s.high for _, s in decided)
        line += f"; the interval covers the truth in {covered / len(decided):.1%}"
    sys.stdout.write(line + "\n")


def export(folder: Path, name: str, extra: bool) -> Path:
    models = folder / "models" / name
    models.mkdir(parents=True)
    (models / "__init__.py").write_text("from . import model\n")
    (models / "model.py").write_text(_MODEL.replace("EXTRA", str(extra)).replace("NAME", name))
    arguments = ["export", name, "--models-dir", str(models.parent), "--outdir", str(folder / name)]
    subprocess.run([sys.executable, "-m", "etprof", *arguments], check=True, capture_output=True, timeout=300)
    return folder / name / f"{name}_xnnpack_fp32.pte"


def run_schedule(baseline: Path, candidate: Path, folder: Path) -> Variants:
    """Block medians in nanoseconds, the two models taking turns."""
    times: dict[str, list[float]] = {"b": [], "c": []}
    while not times["b"] or not is_enough(times["b"], times["c"]):
        for variant in "bc" if len(times["b"]) % 2 == 0 else "cb":
            times[variant].append(run_block(baseline if variant == "b" else candidate, folder))
    return np.array(times["b"]), np.array(times["c"])


def run_block(model: Path, folder: Path) -> float:
    result = folder / "result.json"
    inputs = model.with_name(f"{model.stem}.input_0.bin")
    flags = ["--num_executions", "20", "--warmup", "5", "--warmup_max", "50", "--result_path", str(result)]
    command = [*ensure_runner().command, "--model_path", str(model), "--inputs", str(inputs), *flags]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return float(np.median(json.loads(result.read_text())["latency_ns"]))


if __name__ == "__main__":
    main()
