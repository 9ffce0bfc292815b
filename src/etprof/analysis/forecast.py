"""Forecasts a variant of a run on another CPU from the profiles of both: operator by operator, and added up.

The expected time of an operator is its measured one times the ratio of the probes that are like it. Ratios of one case
of kernels are taken to err together, those of different cases independently. The interval has a common part beside
that, which is assumed; `bench/forecast.py` counts how many latencies fall inside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from statistics import NormalDist

from etprof.analysis.forecast_ratios import Ratio, RatioModel, Wanted
from etprof.analysis.operator_costs import OperatorCost
from etprof.core.device_profile import MOVEMENT
from etprof.core.estimates import Interval
from etprof.core.forecast import CONFIDENCE, ForecastRow, ForecastShare
from etprof.core.operators import OperatorId

# What no probe tells: how the run and the calibration differ from themselves a day later. An assumption, not fitted.
_COMMON_SPREAD = 0.03
# What is not an operator's.
OVERHEAD = "Overhead"
_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Projection:
    """Operators on another CPU: what they and the rest of an inference are expected to take, in traced time."""

    measured_ms: float
    expected_ms: float
    spread: float
    rows: tuple[ForecastRow, ...]
    shares: tuple[ForecastShare, ...]

    @property
    def speedup(self) -> Interval:
        value = self.measured_ms / self.expected_ms
        factor = exp(_QUANTILE * self.spread)
        return Interval(value, value / factor, value * factor, CONFIDENCE)


def project(
    costs: Sequence[OperatorCost], overhead_ms: float, model: RatioModel, eligible: Mapping[OperatorId, bool]
) -> Projection:
    """`overhead_ms` is what no operator owns; it is carried over as operators that move data are."""
    ratios = [model.estimate(Wanted(cost.group, cost.case, cost.extent)) for cost in costs]
    carried = model.estimate(Wanted(MOVEMENT))
    rows = tuple(_describe(cost, ratio, eligible[cost.identity]) for cost, ratio in zip(costs, ratios, strict=True))
    overhead = ForecastShare(OVERHEAD, overhead_ms, overhead_ms * exp(carried.log), 0.0)
    expected_ms = sum(row.expected_ms for row in rows) + overhead.expected_ms
    errors: dict[object, float] = {OVERHEAD: overhead.expected_ms * carried.spread}
    for cost, ratio, row in zip(costs, ratios, rows, strict=True):
        key = (cost.group, cost.case)
        errors[key] = errors.get(key, 0.0) + row.expected_ms * ratio.spread
    return Projection(
        measured_ms=sum(cost.time_ms for cost in costs) + overhead_ms,
        expected_ms=expected_ms,
        spread=sqrt(_COMMON_SPREAD**2 + sum(error**2 for error in errors.values()) / expected_ms**2),
        rows=rows,
        shares=_add_up(rows, overhead, expected_ms),
    )


def _describe(cost: OperatorCost, ratio: Ratio, is_eligible: bool) -> ForecastRow:
    expected_ms = cost.time_ms * exp(ratio.log)
    factor = exp(_QUANTILE * ratio.spread)
    return ForecastRow(
        identity=cost.identity,
        name=cost.name,
        kind=cost.kind,
        category=cost.category,
        module_path=cost.module_path,
        measured_ms=cost.time_ms,
        expected_ms=expected_ms,
        low_ms=expected_ms / factor,
        high_ms=expected_ms * factor,
        basis=ratio.basis,
        is_eligible=is_eligible,
    )


def _add_up(rows: Sequence[ForecastRow], overhead: ForecastShare, expected_ms: float) -> tuple[ForecastShare, ...]:
    """By category, the largest expected part first."""
    sums: dict[str, tuple[float, float]] = {OVERHEAD: (overhead.measured_ms, overhead.expected_ms)}
    for row in rows:
        measured, expected = sums.get(row.category, (0.0, 0.0))
        sums[row.category] = measured + row.measured_ms, expected + row.expected_ms
    parts = [ForecastShare(name, *both, both[1] / expected_ms) for name, both in sums.items()]
    return tuple(sorted(parts, key=lambda part: -part.expected_ms))
