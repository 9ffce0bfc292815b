"""How small a saving can be and still exceed noise: the noise of a variant, and the intervals of its operators."""

from collections.abc import Sequence
from math import exp, sqrt
from statistics import fmean, stdev

from etprof.core.report import VariantReport
from etprof.core.rows import OperatorRow
from etprof.core.units import NS_PER_MS, NS_PER_US

# XNNPACK counts whole microseconds, and an operator's time is the difference of two readings.
_RESOLUTION_MS = 2 * NS_PER_US / NS_PER_MS
# Standard errors to either side of a mean, for an interval of about 95 %.
_REACH = 2.0


def smallest_visible_ms(variant: VariantReport) -> float:
    """A saving below this could not be told from the noise of the variant's own blocks."""
    whole_ms = sum(row.mean_ms for row in variant.categories)
    return max(_RESOLUTION_MS, (variant.noise_floor or 0.0) * whole_ms)


def tracer_ms(variant: VariantReport) -> float:
    """What the tracer adds to an inference: it falls between the operators, so it is part of the overheads."""
    latency = variant.latency
    return max(latency.tracer_cost or 0.0, 0.0) * latency.median_ms if latency else 0.0


def lowest_ms(rows: Sequence[OperatorRow]) -> float:
    """The lower end of the interval of the operators' time per inference."""
    return sum(row.mean_ms - _half_width(row) for row in rows)


def highest_speedup(before: OperatorRow, after: OperatorRow) -> float:
    """The upper end of the interval of an operator's speed-up."""
    errors = [_half_width(row) / row.mean_ms for row in (before, after) if row.mean_ms]
    return before.mean_ms / after.mean_ms * exp(sqrt(sum(error**2 for error in errors)))


def _half_width(row: OperatorRow) -> float:
    samples = row.samples_ms
    if len(samples) < 2 or not fmean(samples):
        return 0.0
    # The samples are some of the inferences; the mean is over all of them.
    return _REACH * stdev(samples) / sqrt(max(row.count, len(samples)))
