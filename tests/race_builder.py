"""Simulated races between variants whose true times and costs are known, run as a run decides after each round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etprof.analysis.timing.racing import Costs, decide_race, find_beaten, list_open
from etprof.analysis.timing.scaling import BlockTimes, estimate_latency
from etprof.core.plan import Variant
from scaling_builder import BOUND, simulate

MIB = 1 << 20
# Builds of a model as they usually compare: accuracy in dB, size of the file in MiB, milliseconds at 1 and 2 threads.
BUILDS = {
    "fp32": (60.0, 40, {1: 20.0, 2: 11.5}),
    "fp16": (52.0, 20, {1: 19.8, 2: 11.4}),
    "static_per_channel": (31.0, 11, {1: 8.0, 2: 4.7}),
    "static_per_tensor": (24.0, 11, {1: 8.0, 2: 4.7}),
    "dynamic_per_channel": (35.0, 11, {1: 12.5, 2: 7.4}),
    "linear_dynamic_4bit": (18.0, 8, {1: 15.0, 2: 9.0}),
    "linear_dynamic_8bit": (34.0, 14, {1: 13.5, 2: 8.1}),
}


@dataclass(frozen=True)
class Raced:
    """How many blocks each variant got, who is left, and after how many rounds."""

    blocks: Mapping[Variant, int]
    front: tuple[Variant, ...]
    rounds: int

    def share_of_time(self, truths: Mapping[Variant, float]) -> float:
        """The time that was spent, as a share of that for as many rounds of everything."""
        return sum(self.blocks[v] * ms for v, ms in truths.items()) / (self.rounds * sum(truths.values()))


def list_truths() -> dict[Variant, float]:
    return {Variant(name, threads): ms for name, (_, _, own) in BUILDS.items() for threads, ms in own.items()}


def list_costs() -> dict[Variant, Costs]:
    return {
        Variant(name, threads): Costs(accuracy, size * MIB, (size + 30) * MIB)
        for name, (accuracy, size, own) in BUILDS.items()
        for threads in own
    }


def race(
    truths: Mapping[Variant, float],
    costs: Mapping[Variant, Costs],
    *,
    noise: float,
    seed: int,
    least: int = 4,
    most: int = 60,
) -> Raced:
    """Rounds of those whose order is open, until none is."""
    by_name: dict[str, dict[int, float]] = {}
    for variant, ms in truths.items():
        by_name.setdefault(variant.experiment, {})[variant.threads] = ms
    times = simulate(by_name, rounds=most, noise=noise, seed=seed)
    measured: dict[Variant, dict[int, float]] = {variant: {} for variant in times}
    left, running = list(times), list(times)
    for rounds in range(1, most + 1):
        for variant in running:
            measured[variant][rounds - 1] = times[variant][rounds - 1]
        decided = decide_race(measured, left, seed=0, bound=BOUND)
        beaten = find_beaten(decided, costs, _by_speed(left, measured), BOUND)
        left = [variant for variant in left if variant not in beaten]
        still_open = list_open(decided, beaten)
        if rounds >= least and not still_open:
            break
        running = left if rounds < least else [v for v in left if any(v in pair for pair in still_open)]
    return Raced({v: len(own) for v, own in measured.items()}, tuple(left), rounds)


def _by_speed(left: Sequence[Variant], times: Mapping[Variant, BlockTimes]) -> list[Variant]:
    return sorted(left, key=lambda variant: estimate_latency(times[variant])[0])
