"""Two variants against each other: the speed-up, its confidence interval, the noise floor, and a verdict.

The unit of evidence is the block, a fresh process, because iterations within one share its luck (memory layout, core,
neighbours): Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013. Block i of the baseline is paired
with block i of the candidate, which ran next to it; with the pairs' order alternating (ABBA) a steady drift cancels.
The interval is a bootstrap over those pairs, widened for small samples as in Hesterberg, What Teachers Should Know
About the Bootstrap, The American Statistician 69(4), 2015 (the expanded percentile interval), and never narrower than
Student's t interval, which a bootstrap of three or four pairs would be. "No difference" is the claim of an equivalence
test (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987): the whole interval lies within a bound,
which noise makes harder to meet, never easier. bench/verdicts.py measures what all of them claim.
"""

from collections.abc import Sequence
from itertools import combinations
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.rank_test import signed_rank_p_value
from etprof.analysis.timing.student import student_quantile
from etprof.core.estimates import Interval, Verdict
from etprof.core.run import BlockResult
from etprof.core.units import format_percent

_RESAMPLES = 4000
CONFIDENCE = 0.95
# A claim needs this many pairs of blocks; below it no interval means anything.
MINIMUM_PAIRS = 3
# Splitting n blocks into halves has too many ways to try them all for large n.
_SPLITS = 400


def log_ratios(baseline: Sequence[BlockResult], candidate: Sequence[BlockResult]) -> NDArray[np.float64]:
    """One log speed-up for each pair of blocks that both finished."""
    by_index = {r.index: r for r in candidate if r.latency_ns}
    pairs = [(r, by_index[r.index]) for r in baseline if r.latency_ns and r.index in by_index]
    return np.array([log(float(np.median(b.latency_ns)) / float(np.median(c.latency_ns))) for b, c in pairs])


def estimate_speedup(ratios: NDArray[np.float64], seed: int, *, confidence: float = CONFIDENCE) -> Interval | None:
    """The geometric mean of the pairs' speed-ups with its interval; None where there are too few pairs."""
    count = len(ratios)
    if count < MINIMUM_PAIRS:
        return None
    rng = np.random.default_rng(seed)
    means = _resampled_means(ratios, rng)
    mean, t = float(ratios.mean()), student_reach(count - 1, confidence)
    tail = _expanded_tail(count, confidence)
    low, high = (float(q) for q in np.quantile(means, [tail, 1 - tail]))
    half_width = t * float(ratios.std(ddof=1)) / sqrt(count)
    return Interval(exp(mean), exp(min(low, mean - half_width)), exp(max(high, mean + half_width)), confidence)


def estimate_unpaired_speedup(baseline: Sequence[float], candidate: Sequence[float], seed: int) -> Interval | None:
    """The same for blocks that did not run side by side: variants are resampled separately; Welch's t is the floor."""
    before, after = (np.log(np.asarray(medians, dtype=np.float64)) for medians in (baseline, candidate))
    if min(len(before), len(after)) < MINIMUM_PAIRS:
        return None
    rng = np.random.default_rng(seed)
    means = _resampled_means(before, rng) - _resampled_means(after, rng)
    tail = _expanded_tail(min(len(before), len(after)))
    low, high = (float(q) for q in np.quantile(means, [tail, 1 - tail]))
    value, reach = float(before.mean() - after.mean()), _welch_reach(before, after)
    return Interval(exp(value), exp(min(low, value - reach)), exp(max(high, value + reach)), CONFIDENCE)


def student_reach(degrees: float, confidence: float = CONFIDENCE) -> float:
    """How many standard errors an interval reaches to either side."""
    return student_quantile((1 + confidence) / 2, degrees)


def _expanded_tail(count: int, confidence: float = CONFIDENCE) -> float:
    """The share of resampled means beyond either end of the expanded percentile interval."""
    return NormalDist().cdf(-sqrt(count / (count - 1)) * student_reach(count - 1, confidence))


def _welch_reach(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Half the width of the interval of a difference of means (Welch, Biometrika 34, 1947)."""
    parts = [float(values.var(ddof=1)) / len(values) for values in (one, other)]
    if not sum(parts):
        return 0.0
    sizes = (len(one), len(other))
    degrees = sum(parts) ** 2 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return student_reach(degrees) * sqrt(sum(parts))


def _resampled_means(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(values[rng.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1))


def rank_test(ratios: NDArray[np.float64]) -> float | None:
    """The p-value of Wilcoxon's signed-rank test on the pairs; small samples can only give large values."""
    if len(ratios) < MINIMUM_PAIRS or not np.any(ratios):
        return None
    return signed_rank_p_value(ratios)


def measure_noise_floor(
    variants: Sequence[Sequence[float] | NDArray[np.float64]], seed: int, *, interleaved: bool = True
) -> float | None:
    """The speed-up nothing at all would show: variants compared with themselves, by splitting their blocks into halves.

    95 % of the splits differ by less than the share returned, also in the noisier variant. Only where blocks were
    `interleaved` does a drift cancel, and is left out.
    """
    logs = [_without_drift(medians) if interleaved else np.log(np.asarray(medians)) for medians in variants]
    splits = [np.abs(_split_differences(each, seed)) for each in logs if len(each) > 1]
    return exp(max(float(np.quantile(each, 0.95)) for each in splits)) - 1 if splits else None


def _without_drift(medians: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Log medians without their straight-line trend, which interleaving cancels in the comparison as well."""
    logs = np.log(np.asarray(medians, dtype=np.float64))
    count = len(logs)
    if count < 4:
        return logs
    time = np.arange(count)
    residuals = logs - np.polyval(np.polyfit(time, logs, 1), time)
    # The fit takes up some of the noise; this gives it back.
    return np.asarray(residuals * sqrt((count - 1) / (count - 2)))


def _split_differences(logs: NDArray[np.float64], seed: int) -> list[float]:
    half = len(logs) // 2
    ways = list(combinations(range(len(logs)), half)) if len(logs) <= 10 else None
    if ways is None:
        rng = np.random.default_rng(seed)
        ways = [tuple(rng.permutation(len(logs))[:half]) for _ in range(_SPLITS)]
    inside = np.zeros((len(ways), len(logs)), dtype=bool)
    for row, way in enumerate(ways):
        inside[row, list(way)] = True
    sums = inside @ logs
    return list(sums / half - (logs.sum() - sums) / (len(logs) - half))


def judge(speedup: Interval | None, noise_floor: float | None, pairs: int, bound: float) -> tuple[Verdict, str]:
    """The verdict and the sentence that gives its reason; a difference of up to `bound`, a share, counts as none."""
    if speedup is None or noise_floor is None:
        return Verdict.INCONCLUSIVE, f"{pairs} pairs of blocks are too few; at least {MINIMUM_PAIRS} are needed"
    includes_1 = speedup.low <= 1 <= speedup.high
    if not includes_1 and max(speedup.value, 1 / speedup.value) - 1 > noise_floor:
        verdict = Verdict.FASTER if speedup.value > 1 else Verdict.SLOWER
        return verdict, "the interval excludes 1 and the difference exceeds the noise floor"
    if max(speedup.high, 1 / speedup.low) - 1 <= bound:
        return Verdict.NO_DIFFERENCE, f"the whole interval lies within {format_percent(bound)} of 1"
    advice = more_blocks(speedup, pairs, deciding_distance(speedup, bound))
    if includes_1:
        return Verdict.INCONCLUSIVE, f"the interval includes 1 and reaches beyond {format_percent(bound)}; {advice}"
    return Verdict.INCONCLUSIVE, f"the difference is within the noise floor of {format_percent(noise_floor)}; {advice}"


def more_blocks(speedup: Interval, pairs: int, distance: float) -> str:
    """How many more blocks would bring the interval's ends, as logarithms, within `distance` of the estimate."""
    more = count_more_blocks(speedup, pairs, distance)
    if more is None:
        return "no practical number of blocks would decide it"
    return f"about {more} more blocks per variant would decide it"


def count_more_blocks(speedup: Interval, pairs: int, distance: float) -> int | None:
    """The same as a number, None where it is not practical: the interval shrinks with the root of pairs."""
    half_width = (log(speedup.high) - log(speedup.low)) / 2
    if distance < half_width / 10:
        return None
    wanted = int(np.ceil(pairs * (half_width / distance) ** 2)) + 1
    return max(wanted - pairs, 1)


def deciding_distance(speedup: Interval, bound: float) -> float:
    """How narrow, as logarithms, the interval must be for a verdict: to exclude 1, or to lie within the bound."""
    effect = abs(log(speedup.value))
    return max(effect, log(1 + bound) - effect)
