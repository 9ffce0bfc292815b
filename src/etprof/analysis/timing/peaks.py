"""The peaks of a CPU from the passes of a runner: what a loop reaches in its fastest tenth, with its interval.

A disturbance only ever makes a pass slower, so that a mean or median would say less of the CPU than of its neighbours.
The interval of the quantile is that of order statistics (Conover, Practical Nonparametric Statistics, section 3.2).
"""

from collections.abc import Sequence
from math import ceil, comb

from etprof.core.estimates import Interval
from etprof.core.peaks import CLOCK, Bandwidth, PeakPasses, Peaks, Throughput

_QUANTILE = 0.9
_CONFIDENCE = 0.95


def build_peaks(said: PeakPasses, architecture: str, measured_at: str) -> Peaks:
    clock = next((each for each in said.passes if each.name == CLOCK), None)
    return Peaks(
        architecture=architecture,
        measured_at=measured_at,
        clock_ghz=estimate_peak(clock.rates) if clock else None,
        cache_bytes=said.cache_bytes,
        throughputs=tuple(
            Throughput(each.name, each.threads, estimate_peak(each.rates))
            for each in said.passes
            if not each.access and each.name != CLOCK
        ),
        bandwidths=tuple(
            Bandwidth(each.name, each.access, each.threads, estimate_peak(each.rates))
            for each in said.passes
            if each.access
        ),
    )


def estimate_peak(rates: Sequence[float]) -> Interval:
    """The upper end is the fastest pass where there are too few passes for a better one."""
    ranked = sorted(rates)
    count = len(ranked)
    tail = (1 - _CONFIDENCE) / 2
    below = [_at_most(k, count) for k in range(count)]
    low = max((k for k in range(count) if below[k] <= tail), default=0)
    high = next((k for k in range(count) if 1 - below[k] <= tail), count - 1)
    return Interval(ranked[ceil(_QUANTILE * count) - 1], ranked[low], ranked[high], _CONFIDENCE)


def _at_most(k: int, count: int) -> float:
    """The probability that at most k passes are below the quantile."""
    return sum(comb(count, i) * _QUANTILE**i * (1 - _QUANTILE) ** (count - i) for i in range(k + 1))
