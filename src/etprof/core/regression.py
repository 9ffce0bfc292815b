"""A run checked against a known-good one, as data: a verdict for each variant, and one for the whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from etprof.core.estimates import Interval
from etprof.core.findings import Finding
from etprof.core.report import CategoryChange


class Outcome(Enum):
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class MemoryCheck:
    """The verdict on the peak memory of a variant; `growth` is the share that was added."""

    outcome: Outcome
    reason: str
    growth: Interval | None = None


@dataclass(frozen=True)
class VariantCheck:
    """One variant in both runs. `slowdown` is the share of time that was added, negative where time was saved.

    `load_ms` and `peak_bytes` are those of the known-good run and of the checked one; they are informational, unless
    `memory` judges the peak. So is the SNR of their outputs against the eager model, infinite where they are equal,
    unless it is below `least_snr_db`.
    """

    label: str
    outcome: Outcome
    reason: str
    slowdown: Interval | None = None
    noise_floor: float | None = None
    medians_ms: tuple[float | None, float | None] = (None, None)
    load_ms: tuple[float | None, float | None] = (None, None)
    peak_bytes: tuple[int | None, int | None] = (None, None)
    output_difference: float | None = None
    snr_db: tuple[float | None, float | None] = (None, None)
    least_snr_db: float | None = None
    categories: tuple[CategoryChange, ...] = ()
    memory: MemoryCheck | None = None


@dataclass(frozen=True)
class RegressionCheck:
    """A run against a known-good one. `tolerance` is the share of time a variant may be slower.

    `output_tolerance` is how far outputs may differ, as a share of the largest value; None where they are not compared.
    `memory_tolerance` is the share by which the peak memory of a variant may grow; None where it is not judged.
    `failures` are what makes the run fail besides the variants' verdicts, `doubts` what keeps it from passing.
    """

    run: str
    known_good: str
    model: str
    tolerance: float
    output_tolerance: float | None
    variants: tuple[VariantCheck, ...]
    failures: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    memory_tolerance: float | None = None

    @property
    def outcome(self) -> Outcome:
        found = [variant.outcome for variant in self.variants]
        found += [variant.memory.outcome for variant in self.variants if variant.memory]
        found += [Outcome.FAIL] * len(self.failures) + [Outcome.INCONCLUSIVE] * len(self.doubts)
        return worst(found)


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """One failure fails the whole; what nothing was found out about is inconclusive."""
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    return Outcome.INCONCLUSIVE if Outcome.INCONCLUSIVE in outcomes or not outcomes else Outcome.PASS
