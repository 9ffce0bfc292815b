"""Measures what the section on threads claims: contention points found and invented, best counts, crossovers, shares.

`.venv/bin/python bench/scaling.py [--schedules 400]`. Block medians are simulated with the noise of a machine at rest,
and with three times that; rounds are added as `etprof profile` would add them.
"""

import argparse
import sys
from collections.abc import Mapping
from itertools import pairwise
from math import log
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from etprof.analysis.timing.scaling import BlockTimes
from etprof.analysis.timing.speedup import estimate_speedup
from etprof.app.plans import PROFILE_SCHEDULE
from etprof.app.schedule import reason_to_stop
from etprof.core.plan import Plan, Variant
from etprof.core.scaling import Crossover, ScalingCurve, StepEffect
from scaling_builder import M4_PRO, analyze, contended, ideal, simulate

COUNTS = (1, 2, 4, 8)
NOISES = (0.007, 0.02)
# Each: what it is, the device with the extension hidden and shown, and the last count that a step to gained at.
DEVICES: tuple[tuple[str, Mapping[int, float], Mapping[int, float], int | None], ...] = (
    ("two shared units, 5 % lost for each thread more", ideal(COUNTS, 0.02, 14.0), contended(COUNTS, 2, 0.05), 2),
    ("four shared units, nothing gained beyond", ideal(COUNTS, 0.02, 14.0), contended(COUNTS, 4, 0.0), 4),
    ("M4 Pro, published numbers", ideal(tuple(M4_PRO), 0.02, 4.0), M4_PRO, 2),
    ("ideal, 5 % serial", ideal(COUNTS, 0.02, 14.0), ideal(COUNTS, 0.05), None),
    ("ideal, 30 % serial", ideal(COUNTS, 0.02, 14.0), ideal(COUNTS, 0.30), None),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=400, help="simulated schedules of each device")
    schedules = parser.parse_args().schedules
    for noise in NOISES:
        for name, off, on, limit in DEVICES:
            report(f"{name}, noise {noise:.1%}", {"off": off, "on": on}, limit, noise, schedules)


def report(name: str, truths: Mapping[str, Mapping[int, float]], limit: int | None, noise: float, count: int) -> None:
    analyzed = [run_schedule(truths, noise, seed) for seed in range(count)]
    curves = [curves["on"] for curves, _ in analyzed]
    inconclusive = sum(is_inconclusive(curve) for curve in curves)
    right = sum(not is_inconclusive(curve) and found(curve) == limit for curve in curves)
    fastest = min(truths["on"], key=truths["on"].__getitem__)
    equal = [n for n, time in truths["on"].items() if time == truths["on"][fastest]]
    best = sum(curve.best == min(equal) and not curve.undecided for curve in curves)
    wins = [n for n in truths["on"] if truths["off"][n] < truths["on"][n]]
    crossed = sum(each is not None and each.threads == (min(wins) if wins else None) for _, each in analyzed)
    sys.stdout.write(
        f"{name}, {count} schedules: limit right {right / count:.1%}, inconclusive {inconclusive / count:.1%}, "
        f"wrong {(count - right - inconclusive) / count:.1%}; best count right {best / count:.1%}; "
        f"crossover right {crossed / count:.1%}\n"
    )


def is_inconclusive(curve: ScalingCurve) -> bool:
    return curve.limit is not None and curve.limit.effect is StepEffect.INCONCLUSIVE


def found(curve: ScalingCurve) -> int | None:
    return curve.limit.fewer if curve.limit else None


def run_schedule(
    truths: Mapping[str, Mapping[int, float]], noise: float, seed: int
) -> tuple[dict[str, ScalingCurve], Crossover | None]:
    times = simulate(truths, rounds=PROFILE_SCHEDULE.max_blocks, noise=noise, seed=seed)
    rounds = next(n for n in range(PROFILE_SCHEDULE.blocks, PROFILE_SCHEDULE.max_blocks + 1) if is_enough(times, n))
    used = {variant: {i: time for i, time in blocks.items() if i < rounds} for variant, blocks in times.items()}
    return analyze(used, ("off", "on"))


def is_enough(times: Mapping[Variant, BlockTimes], rounds: int) -> bool:
    """As a run decides it: by the width of every interval, of pairs and of steps."""
    steps = [(a, b) for a, b in pairwise(sorted(times)) if a.experiment == b.experiment]
    steps += [(Variant("off", v.threads), v) for v in times if v.experiment == "on"]
    ratios = [np.array([log(times[a][i] / times[b][i]) for i in range(rounds)]) for a, b in steps]
    plan = Plan(Path(), Path(), (), (), PROFILE_SCHEDULE)
    speedups = [estimate_speedup(each, PROFILE_SCHEDULE.seed) for each in ratios]
    return bool(reason_to_stop(plan, rounds, speedups, fits=True))


if __name__ == "__main__":
    main()
