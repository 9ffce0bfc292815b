"""Several builds of one model in one run: what was asked for, what became of each, and the choice between them."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from etprof.core.estimates import Interval, Verdict
from etprof.core.plan import Variant

# Beyond it lies the rounding of fp32, which differs from kernel to kernel and is no accuracy.
EXACT_DB = 60.0


class Standing(StrEnum):
    """What became of a build; the value is its name in reports and files."""

    FRONT = "front"
    DROPPED = "dropped"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Candidate:
    """A build that was asked for; its experiment has the same name, unless a `problem` kept it from being measured.

    `snr_db` is the lowest over the held-out inputs, against eager fp32; None where the build computes the same to the
    bit (`is_exact`), or nothing is known. `metric` is what the model's own `evaluate` said.
    """

    experiment: str
    precision: str
    runtime: str
    file_bytes: int | None = None
    snr_db: float | None = None
    is_exact: bool = False
    metric: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class LayerLoss:
    """A layer, and the SNR of the outputs where it alone is quantised; None where that changes nothing."""

    module: str
    snr_db: float | None


@dataclass(frozen=True)
class Exploration:
    """What a run of several builds is to decide. `held_out` is how many inputs the SNR was measured with.

    `eager_metric` is what `evaluate` says of the eager model, None where the model has no `evaluate`: then the SNR is
    what builds are compared by. `sensitivity` are the layers where `sensitivity_scheme` quantises them one at a time.
    """

    candidates: tuple[Candidate, ...]
    held_out: int = 0
    has_random_weights: bool = False
    eager_metric: float | None = None
    min_snr_db: float | None = None
    min_metric: float | None = None
    sensitivity: tuple[LayerLoss, ...] = ()
    sensitivity_scheme: str = ""

    def candidate(self, experiment: str) -> Candidate:
        return next(each for each in self.candidates if each.experiment == experiment)

    @property
    def has_metric(self) -> bool:
        return self.eager_metric is not None

    def accuracy(self, candidate: Candidate) -> float | None:
        """What builds are compared by, more is better: the metric, or the SNR as far as it is no rounding of fp32."""
        if self.has_metric:
            return candidate.metric
        snr_db = _snr(candidate)
        return None if snr_db is None else min(snr_db, max(EXACT_DB, self.min_snr_db or 0.0))

    def meets_floors(self, candidate: Candidate) -> bool:
        """Whether it reaches the accuracy that was asked for; what is unknown does not."""
        snr_db = _snr(candidate)
        is_exact_enough = self.min_snr_db is None or (snr_db is not None and snr_db >= self.min_snr_db)
        is_good_enough = self.min_metric is None or (
            candidate.metric is not None and candidate.metric >= self.min_metric
        )
        return is_exact_enough and is_good_enough


def _snr(candidate: Candidate) -> float | None:
    return inf if candidate.is_exact else candidate.snr_db


@dataclass(frozen=True)
class Dropped:
    """A variant that is surely worse than another in everything at once, after so many rounds."""

    variant: Variant
    rounds: int
    reason: str


@dataclass(frozen=True)
class ChoiceRow:
    """One build at one thread count, or one that was not measured, which has no thread count.

    `latency_ms` is the geometric mean of the medians of its blocks. `extension_share` is the part of the samples inside
    kernels of the CPU's best extension. `sme2_predicted` is the part of the multiply-accumulates that a CPU with SME2
    is expected to execute with it, None where that is not known. `reason` says why it was dropped or not measured.
    """

    experiment: str
    threads: int | None
    precision: str
    runtime: str
    standing: Standing
    latency_ms: float | None = None
    latency: Interval | None = None
    blocks: int = 0
    snr_db: float | None = None
    is_exact: bool = False
    metric: float | None = None
    meets_floors: bool = False
    file_bytes: int | None = None
    peak_bytes: int | None = None
    load_ms: float | None = None
    extension_share: Interval | None = None
    sme2_predicted: float | None = None
    reason: str = ""

    @property
    def variant(self) -> Variant | None:
        return None if self.threads is None else Variant(self.experiment, self.threads)

    @property
    def label(self) -> str:
        return self.variant.label if self.variant else self.experiment


@dataclass(frozen=True)
class Tie:
    """Two variants of the front that are equally fast as far as is known. Speed-up is that of `second` over `first`.

    The verdict is `no difference`, or `inconclusive`: then `more_rounds` would decide it, None if no practical number.
    """

    first: Variant
    second: Variant
    speedup: Interval | None
    verdict: Verdict
    more_rounds: int | None = None


@dataclass(frozen=True)
class LayerRow:
    """A layer where it alone is quantised: the SNR of the outputs, its share of the noise of all layers, the time.

    Times are those of its operators in the fp32 and in the quantised build, per inference.
    """

    module: str
    snr_db: float | None
    noise_share: float
    fp32_ms: float | None = None
    quantised_ms: float | None = None

    @property
    def gain_ms(self) -> float | None:
        known = self.fp32_ms is not None and self.quantised_ms is not None
        return (self.fp32_ms or 0.0) - (self.quantised_ms or 0.0) if known else None


@dataclass(frozen=True)
class Choice:
    """The answer of a run of several builds: every row, the front, and what to take of it.

    `fastest` and `smallest` are of the front, within the floors. All `comparisons` of latencies hold together with
    `confidence`, at whichever round one looks. `more_s` is the time that would decide what is left open.
    """

    rows: tuple[ChoiceRow, ...]
    fastest: Variant | None
    smallest: Variant | None
    ties: tuple[Tie, ...]
    comparisons: int
    confidence: float
    equivalence_bound: float
    held_out: int
    has_random_weights: bool
    eager_metric: float | None = None
    min_snr_db: float | None = None
    min_metric: float | None = None
    more_s: float | None = None
    extension: str = ""
    layers: tuple[LayerRow, ...] = ()
    layers_scheme: str = ""
    layers_threads: int | None = None

    @property
    def front(self) -> tuple[ChoiceRow, ...]:
        return tuple(row for row in self.rows if row.standing is Standing.FRONT)

    @property
    def undecided(self) -> tuple[Tie, ...]:
        return tuple(tie for tie in self.ties if tie.verdict is Verdict.INCONCLUSIVE)

    def of(self, variant: Variant) -> ChoiceRow:
        return next(row for row in self.rows if row.variant == variant)
