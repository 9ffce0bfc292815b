"""Where a series of runs changed its level, as far as the spread between runs can tell.

ruptures proposes the steps (Killick, Fearnhead and Eckley, Optimal Detection of Changepoints With a Linear
Computational Cost, JASA 107, 2012), with a penalty low enough to miss none. Each is then confirmed or dropped by
Student's t test between the levels on both sides, corrected for the number of places where a step could have been
(Bonferroni): a flat series has a step announced in fewer than one case in twenty, whatever its length. Times are
compared by their logarithms, so that a change is a share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log, sqrt
from statistics import fmean

import numpy as np

from etprof.analysis.timing.student import two_sided_tail

# A step lasts at least this many runs: one slow run is an outlier.
SHORTEST_LEVEL = 3
FEWEST_RUNS = 6
# In a flat series. ruptures chose the best of all places, and the spread is what it left: the true rate is twice that.
_FALSE_ALARMS = 0.03
# Of the penalty against one more step, in units of the variance times log(n); the t test is the judge.
_PENALTY = 2.0


@dataclass(frozen=True)
class Level:
    """Values from `start` on until before `end`."""

    start: int
    end: int
    mean: float

    @property
    def count(self) -> int:
        return self.end - self.start


@dataclass(frozen=True)
class LevelChange:
    """`change` and `spread` are shares."""

    index: int
    before: float
    after: float
    change: float
    spread: float
    p_value: float


def find_level_changes(values: Sequence[float]) -> tuple[tuple[LevelChange, ...], float | None]:
    """The confirmed steps of a series of positive values, and the spread around its levels; None for too few values."""
    if len(values) < FEWEST_RUNS:
        return (), None
    logs = np.log(np.asarray(values, dtype=np.float64))
    ends = _propose(logs)
    while True:
        levels = _build_levels(logs, ends)
        spread = _measure_spread(logs, levels)
        changes = [_test(before, after, spread, len(values)) for before, after in pairwise(levels)]
        weakest = max(changes, key=lambda change: change.p_value, default=None)
        if weakest is None or weakest.p_value <= _FALSE_ALARMS:
            return tuple(changes), exp(spread) - 1
        ends.remove(weakest.index)


def _propose(logs: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[int]:
    """Where levels may end, the end of the series last."""
    import ruptures

    # Differences of neighbours know nothing of levels, save the few that lie across a step.
    differences = np.abs(np.diff(logs))
    sigma = 1.4826 * float(np.median(differences)) / sqrt(2)
    if not sigma:
        sigma = float(np.mean(differences)) / sqrt(2)
    penalty = _PENALTY * log(len(logs)) * max(sigma, 1e-9) ** 2
    # The same search as Pelt with squared errors, in C.
    search = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST_LEVEL).fit(logs.reshape(-1, 1))
    return [int(end) for end in search.predict(pen=penalty)]


def _build_levels(logs: "np.ndarray[tuple[int], np.dtype[np.float64]]", ends: Sequence[int]) -> list[Level]:
    starts = [0, *ends[:-1]]
    return [Level(start, end, fmean(logs[start:end])) for start, end in zip(starts, ends, strict=True)]


def _measure_spread(logs: "np.ndarray[tuple[int], np.dtype[np.float64]]", levels: Sequence[Level]) -> float:
    squares = sum(float(np.sum((logs[each.start : each.end] - each.mean) ** 2)) for each in levels)
    return sqrt(squares / max(len(logs) - len(levels), 1))


def _test(before: Level, after: Level, spread: float, values: int) -> LevelChange:
    shift = after.mean - before.mean
    error = max(spread, 1e-9) * sqrt(1 / before.count + 1 / after.count)
    places = values - 2 * SHORTEST_LEVEL + 1
    p_value = min(1.0, places * two_sided_tail(abs(shift) / error, max(values - 2, 1)))
    return LevelChange(after.start, exp(before.mean), exp(after.mean), exp(shift) - 1, exp(spread) - 1, p_value)
