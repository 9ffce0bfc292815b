"""The time of a phase's steps in their order, and whether it changes as the sequence goes on.

Each block gives one slope: that of Theil and Sen (Sen, Estimates of the Regression Coefficient Based on Kendall's Tau,
Journal of the American Statistical Association 63, 1968) through the medians of its sequences, which a slow first step
or a few disturbed ones do not move. The interval is Student's over blocks, because a block is the unit of evidence
here as it is for speed-ups; Holm's procedure sets its level where several curves are looked at.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.holm import holm_levels, paired_p_value
from etprof.analysis.timing.scaling import BlockTimes, estimate_mean
from etprof.analysis.timing.speedup import CONFIDENCE, MINIMUM_PAIRS
from etprof.core.estimates import Interval
from etprof.core.phases import CurveShape, StepCurve
from etprof.core.units import NS_PER_MS, format_percent

# Steps of a phase by block: a row for each sequence, in nanoseconds.
StepTimes = Mapping[int, NDArray[np.int64]]
# More points than this would not be told apart in a chart; neighbouring steps are one point then.
MOST_POINTS = 120
# A slope through fewer steps says little about the ones after them.
FEWEST_STEPS = 8


class _Line(NamedTuple):
    """Of each block: the change from the first step to the last as a share of the first, and for one step."""

    growth: NDArray[np.float64]
    slope_ns: NDArray[np.float64]


def median_steps_ms(times: StepTimes) -> BlockTimes:
    """The median step of each block."""
    return {index: float(np.median(block)) / NS_PER_MS for index, block in times.items() if block.size}


def median_totals_ms(times: StepTimes) -> BlockTimes:
    """What the phase takes of a sequence, the median of each block."""
    return {i: float(np.median(block.sum(axis=1))) / NS_PER_MS for i, block in times.items() if block.size}


def build_curves(
    phases: Sequence[StepTimes], positions: Sequence[NDArray[np.int64]], bound: float
) -> list[StepCurve | None]:
    """The curve of each phase, None for one of a single step; the shapes of all of them hold together."""
    points = [_divide(times) for times in phases]
    lines = [_fit_line(each) if each else None for each in points]
    judged = [number for number, line in enumerate(lines) if line and len(line.growth) >= MINIMUM_PAIRS]
    p_values = [paired_p_value(line.growth) for number in judged if (line := lines[number])]
    levels = dict(zip(judged, holm_levels(p_values, 1 - CONFIDENCE), strict=True))
    return [
        _build_curve(own, lines[number], where, levels.get(number), bound) if own else None
        for number, (own, where) in enumerate(zip(points, positions, strict=True))
    ]


class _Points(NamedTuple):
    """`first` is the number of the first step of each point, `middle` that of its middle; a row of values per block."""

    first: NDArray[np.int64]
    middle: NDArray[np.float64]
    values_ns: NDArray[np.float64]
    steps: int


def _divide(times: StepTimes) -> _Points | None:
    """Medians over sequences and neighbouring steps; None for a phase of one step, or without any time."""
    blocks = [block for block in times.values() if block.size]
    steps = blocks[0].shape[1] if blocks else 0
    if steps < 2:
        return None
    first = np.linspace(0, steps, min(steps, MOST_POINTS), endpoint=False).astype(np.int64)
    ends = np.append(first[1:], steps)
    spans = list(zip(first.tolist(), ends.tolist(), strict=True))
    values = np.array([[float(np.median(block[:, start:end])) for start, end in spans] for block in blocks])
    return _Points(first, (first + ends - 1) / 2, values, steps)


def _fit_line(points: _Points) -> _Line | None:
    """None where the phase has too few steps."""
    if points.steps < FEWEST_STEPS:
        return None
    left, right = np.triu_indices(len(points.middle), 1)
    distance = points.middle[right] - points.middle[left]
    slopes = np.median((points.values_ns[:, right] - points.values_ns[:, left]) / distance, axis=1)
    starts = np.median(points.values_ns - slopes[:, None] * points.middle, axis=1)
    # A line that begins below nothing fits no time; the share is of the middle then.
    starts = np.where(starts > 0, starts, np.median(points.values_ns, axis=1))
    growth = np.divide(slopes * (points.steps - 1), starts, out=np.zeros_like(slopes), where=starts > 0)
    return _Line(growth, slopes)


def _build_curve(
    points: _Points, line: _Line | None, positions: NDArray[np.int64], level: float | None, bound: float
) -> StepCurve:
    growth = estimate_mean(line.growth, 1 - level) if line and level is not None else None
    shape, reason = judge_growth(growth, points.steps, len(points.values_ns), bound)
    scaled = points.values_ns / NS_PER_MS
    return StepCurve(
        first_steps=tuple(points.first.tolist()),
        positions=tuple(positions[points.first].tolist()),
        median_ms=tuple(np.median(scaled, axis=0).tolist()),
        low_ms=tuple(scaled.min(axis=0).tolist()),
        high_ms=tuple(scaled.max(axis=0).tolist()),
        growth=growth,
        slope_ns=estimate_mean(line.slope_ns, 1 - level) if line and level is not None else None,
        shape=shape,
        reason=reason,
    )


def judge_growth(growth: Interval | None, steps: int, blocks: int, bound: float) -> tuple[CurveShape, str]:
    """What the curve does, and why that is said; a change of up to `bound`, a share, counts as none."""
    if growth is None:
        if steps < FEWEST_STEPS:
            return CurveShape.INCONCLUSIVE, f"{steps} steps are too few; at least {FEWEST_STEPS} are needed"
        return CurveShape.INCONCLUSIVE, f"{blocks} blocks are too few; at least {MINIMUM_PAIRS} are needed"
    if max(abs(growth.low), abs(growth.high)) <= bound:
        return CurveShape.CONSTANT, f"the whole interval lies within {format_percent(bound)}"
    if growth.low > 0:
        return CurveShape.GROWS, "the interval is above 0"
    if growth.high < 0:
        return CurveShape.FALLS, "the interval is below 0"
    return CurveShape.INCONCLUSIVE, f"the interval includes 0 and reaches beyond {format_percent(bound)}"
