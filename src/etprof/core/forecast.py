"""A forecast as data: what an inference would take on a CPU that it was not run on. Nothing of it is measured."""

from dataclasses import dataclass

from etprof.core.device_profile import ProfiledDevice
from etprof.core.estimates import Interval
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant

# The interval of a forecast is meant to hold so often.
CONFIDENCE = 0.9


@dataclass(frozen=True)
class Validation:
    """How the forecasts of `bench/forecast.py` compared with what was measured then.

    `models` is how many models and precisions there were, `forecasts` how many forecasts of them; errors are those of
    the latency of an inference. `within_10` and `inside` are shares: errors of at most 10 %, and latencies inside of
    the stated interval.
    """

    models: int
    forecasts: int
    median_error: float
    largest_error: float
    within_10: float
    inside: float
    checked_on: str


# Those of docs/reference/forecast-measured.md, on a CPU that the method was not made on.
VALIDATION = Validation(
    models=29,
    forecasts=58,
    median_error=0.0434,
    largest_error=0.1798,
    within_10=0.897,
    inside=0.983,
    checked_on="2026-11-18",
)


@dataclass(frozen=True)
class ForecastRow:
    """An operator on the CPU it ran on and on the other; `measured_ms` is the only number here that was measured.

    `basis` is what its ratio comes from. `is_eligible` where the extension of the other CPU has a kernel for it.
    """

    identity: OperatorId
    name: str
    kind: str
    category: str
    module_path: str
    measured_ms: float
    expected_ms: float
    low_ms: float
    high_ms: float
    basis: str
    is_eligible: bool

    @property
    def saved_ms(self) -> float:
        return self.measured_ms - self.expected_ms


@dataclass(frozen=True)
class ForecastShare:
    """A category of operators, or an overhead, and its part of the expected time."""

    name: str
    measured_ms: float
    expected_ms: float
    share: float


@dataclass(frozen=True)
class Forecast:
    """One variant of a run on another CPU, or on another level of the same one.

    `measured_ms` is the latency of the run, on `source`; everything else is an estimate or a bound for `target`.
    `expected_ms` and `speedup` are None where a profile has peaks only, or where something is `missing`: sentences that
    say what, with the command that brings it. `extension_speedup` is what the extension alone brings on the target.
    `ceiling_speedup` is that of an inference whose eligible operators take no time and whose others stay as they are
    here; `untouched_share` is the part of the time that those others take. `floor_ms` is what the peaks of the target
    do not allow to beat. `shares` has what no operator owns, too.
    """

    variant: Variant
    source: ProfiledDevice
    target: ProfiledDevice
    extension: str
    measured_ms: float | None = None
    expected_ms: Interval | None = None
    speedup: Interval | None = None
    extension_speedup: Interval | None = None
    ceiling_speedup: float | None = None
    untouched_share: float | None = None
    floor_ms: float | None = None
    rows: tuple[ForecastRow, ...] = ()
    shares: tuple[ForecastShare, ...] = ()
    missing: tuple[str, ...] = ()
    validation: Validation | None = None

    @property
    def deciding(self) -> tuple[ForecastRow, ...]:
        """The three operators that decide the forecast: their times change most."""
        return tuple(sorted(self.rows, key=lambda row: -abs(row.saved_ms))[:3])
