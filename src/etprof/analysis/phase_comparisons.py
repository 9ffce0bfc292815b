"""Variants against each other in each phase: a family of comparisons, whose verdicts hold together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.holm import holm_levels, paired_p_value
from etprof.analysis.timing.scaling import BlockTimes
from etprof.analysis.timing.speedup import (
    CONFIDENCE,
    MINIMUM_PAIRS,
    estimate_speedup,
    judge,
    measure_noise_floor,
)
from etprof.core.phases import PhaseComparison
from etprof.core.plan import Schedule, Variant
from etprof.core.report import Comparison

# A phase of one variant, by its number; the variant's own sequence is the number after the last.
Place = tuple[Variant, int]
_Ratios = NDArray[np.float64]


@dataclass(frozen=True)
class PhaseKey:
    """What phases of two variants have in common that are one row."""

    name: str
    steps: int
    is_whole: bool = False


def compare_phases(
    comparisons: Sequence[Comparison],
    places: Mapping[PhaseKey, Sequence[Place]],
    totals: Mapping[Place, BlockTimes],
    schedule: Schedule,
) -> dict[PhaseKey, tuple[PhaseComparison, ...]]:
    """The pairs of a run in each phase that both sides have; `totals` are what it takes of a sequence, by block.

    A whole sequence has the verdict that its variants have anyway.
    """
    sides = [
        (key, comparison, tuple((side, dict(own)[side]) for side in comparison.sides))
        for key, own in places.items()
        for comparison in comparisons
        if {comparison.baseline, comparison.candidate} <= dict(own).keys()
    ]
    family = [each for each in sides if not each[0].is_whole]
    ratios = [_log_ratios(totals[before], totals[after]) for _, _, (before, after) in family]
    known = [number for number, each in enumerate(ratios) if len(each) >= MINIMUM_PAIRS]
    levels = dict(zip(known, holm_levels([paired_p_value(ratios[n]) for n in known], 1 - CONFIDENCE), strict=True))
    found: dict[PhaseKey, list[PhaseComparison]] = {key: [] for key, _, _ in sides}
    for number, (key, comparison, both) in enumerate(family):
        level = levels.get(number, 1 - CONFIDENCE)
        found[key].append(_judge(comparison, [totals[side] for side in both], ratios[number], level, schedule))
    for key, comparison, _ in sides:
        if key.is_whole:
            found[key].append(_copy_verdict(comparison))
    return {key: tuple(each) for key, each in found.items()}


def _log_ratios(before: BlockTimes, after: BlockTimes) -> _Ratios:
    shared = [i for i in sorted(before.keys() & after.keys()) if before[i] > 0 and after[i] > 0]
    return np.log([before[i] for i in shared]) - np.log([after[i] for i in shared])


def _judge(
    comparison: Comparison, sides: Sequence[BlockTimes], ratios: _Ratios, level: float, schedule: Schedule
) -> PhaseComparison:
    if not any(sides):
        # Nothing was timed: what is said of the pair holds for its phases, too.
        return _copy_verdict(comparison)
    speedup = estimate_speedup(ratios, schedule.seed, confidence=1 - level)
    floor = measure_noise_floor([[value for value in each.values() if value > 0] for each in sides], schedule.seed)
    verdict, reason = judge(speedup, floor, len(ratios), schedule.equivalence_bound)
    return PhaseComparison(comparison.baseline, comparison.candidate, speedup, floor, verdict, reason)


def _copy_verdict(comparison: Comparison) -> PhaseComparison:
    return PhaseComparison(
        comparison.baseline,
        comparison.candidate,
        comparison.speedup,
        comparison.noise_floor,
        comparison.verdict,
        comparison.reason,
    )
