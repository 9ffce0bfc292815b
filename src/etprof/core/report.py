"""The finished analysis, as data: every report format renders this one object and computes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

CATEGORIES = ("Convolution", "GEMM", "Data Movement", "Elementwise", "Other")
DELEGATE_OVERHEAD = "Delegate overhead"
FRAMEWORK_OVERHEAD = "Framework overhead"


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval."""

    value: float
    low: float
    high: float
    confidence: float = 0.95


@dataclass(frozen=True)
class LatencySummary:
    """Steady iterations of all blocks of one arm, in milliseconds; untraced, unless the runner left no choice."""

    blocks: int
    samples: int
    median_ms: float
    mad_ms: float
    mean_ms: float
    trimmed_mean_ms: float
    std_ms: float
    min_ms: float
    max_ms: float
    p5_ms: float
    p25_ms: float
    p75_ms: float
    p90_ms: float
    p95_ms: float
    p99_ms: float
    outliers_mild: int
    outliers_severe: int
    block_medians_ms: tuple[float, ...]
    cold_ms: float | None
    warmup_ms: float | None
    load_ms: float | None
    tracer_cost: float | None
    is_traced: bool = False

    @property
    def cv(self) -> float:
        return self.std_ms / self.mean_ms if self.mean_ms else 0.0


@dataclass(frozen=True)
class Accounting:
    """Where traced time went, summed over `runs` inferences; the four parts add up to the whole exactly."""

    runs: int
    end_to_end_ns: int
    delegated_ns: int
    portable_ns: int
    delegate_overhead_ns: int
    framework_overhead_ns: int
    setup_ns: int

    def per_run_ms(self, total_ns: int) -> float:
        return total_ns / self.runs / 1e6 if self.runs else 0.0


@dataclass(frozen=True)
class CategoryRow:
    """An operator category or one of the two overheads; the rows add up to the end-to-end time."""

    name: str
    total_ns: int
    mean_ms: float
    share: float
    events_per_run: float


@dataclass(frozen=True)
class KernelUse:
    """A kernel that was seen executing, and in how many samples of the program counter."""

    name: str
    instruction_class: str
    samples: int


class Executed(Enum):
    """Whether an operator executed the extension, as far as its samples can tell."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "too few samples"
    UNSEEN = "not sampled"


@dataclass(frozen=True)
class OperatorKernels:
    """What threads executed while one operator ran.

    `selected` is the packed data type in the operator's name, which XNNPACK picks for KleidiAI's kernels. `samples`
    are those that executed something, `waiting` those that did not. `share` is the part of `samples` inside kernels of
    the extension. `reason` says why it was not executed where that is known.
    """

    identity: str
    name: str
    category: str
    data_type: str
    delegated: bool
    selected: str
    samples: int
    waiting: int
    kernels: tuple[KernelUse, ...]
    instructions: Mapping[str, int]
    share: Interval | None
    executed: Executed
    reason: str = ""


@dataclass(frozen=True)
class KernelEvidence:
    """What one arm's sampled blocks prove about an instruction-set extension, in its operators and over all of them.

    `shown` is False where the extension was hidden. `compiled_in` are its kernels that the libraries name, None where
    they name none of any kind. `outside` samples fell into no operator; `stray` are samples in the extension's
    kernels wherever they fell. `share` is over the Convolution and GEMM operators.
    """

    experiment: str
    threads: int
    extension: str
    shown: bool
    advertised: bool
    compiled_in: tuple[str, ...] | None
    samples: int
    waiting: int
    outside: int
    stray: int
    dropped: int
    overruns: int
    sampled_threads: int
    operators: tuple[OperatorKernels, ...]
    share: Interval | None
    verdict: str


@dataclass(frozen=True)
class OperatorRow:
    """One operator of the model, over all traced inferences; `samples_ms` are some of them, evenly taken in order."""

    identity: str
    name: str
    category: str
    subcategory: str
    delegated: bool
    count: int
    mean_ms: float
    median_ms: float
    share: float
    samples_ms: tuple[float, ...] = ()
    module_path: str = ""
    kernels: tuple[KernelUse, ...] = ()


@dataclass(frozen=True)
class LayoutChange:
    """An operator that only moves data; bytes, rate, shape and module are known where the model's graph is."""

    identity: str
    name: str
    kind: str
    mean_ms: float
    share: float
    bytes_moved: int | None
    gb_per_s: float | None
    shape: str
    module_path: str
    cause: str


@dataclass(frozen=True)
class CancellingTransposes:
    """Two transposes of which the second undoes the first."""

    first: str
    second: str
    saves_ms: float
    kind: str
    evidence: str


@dataclass(frozen=True)
class ArmReport:
    """One experiment at one thread count; `samples_ms` has the timed iterations of each block."""

    experiment: str
    threads: int
    features_hidden: tuple[str, ...]
    latency: LatencySummary | None
    accounting: Accounting | None
    categories: tuple[CategoryRow, ...]
    operators: tuple[OperatorRow, ...]
    unmatched_names: tuple[str, ...]
    peak_bytes: int | None
    runner: str
    samples_ms: tuple[tuple[float, ...], ...] = ()
    layout_changes: tuple[LayoutChange, ...] = ()
    cancelling: tuple[CancellingTransposes, ...] = ()
    evidence: KernelEvidence | None = None

    @property
    def label(self) -> str:
        return f"{self.experiment}, {self.threads} thread{'s' if self.threads != 1 else ''}"


class Verdict(Enum):
    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference beyond noise"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class CategoryShift:
    """One category before and after, per inference."""

    name: str
    baseline_ms: float
    candidate_ms: float
    baseline_share: float
    candidate_share: float

    @property
    def speedup(self) -> float | None:
        return self.baseline_ms / self.candidate_ms if self.candidate_ms > 0 else None


@dataclass(frozen=True)
class OperatorChange:
    """One operator before and after, per inference; no identity and no time on the side that does not have it."""

    name: str
    category: str
    delegated: bool
    baseline_identity: str
    candidate_identity: str
    baseline_ms: float | None
    candidate_ms: float | None
    share_of_gain: float | None
    newly_dominant: bool

    @property
    def gain_ms(self) -> float:
        return (self.baseline_ms or 0.0) - (self.candidate_ms or 0.0)

    @property
    def speedup(self) -> float | None:
        return self.baseline_ms / self.candidate_ms if self.baseline_ms and self.candidate_ms else None


@dataclass(frozen=True)
class Comparison:
    """A pair at one thread count. Speed-up is baseline time / candidate time."""

    baseline: str
    candidate: str
    threads: int
    speedup: Interval | None
    noise_floor: float | None
    p_value: float | None
    verdict: Verdict
    reason: str
    categories: tuple[CategoryShift, ...]
    bottleneck_before: str
    bottleneck_after: str
    output_difference: float | None
    operators: tuple[OperatorChange, ...] = ()


def arms_to_improve(arms: Sequence[ArmReport], comparisons: Sequence[Comparison]) -> list[ArmReport]:
    """The candidates of the comparisons; where nothing is compared, arms that hide least, timed ones if there are."""
    if candidates := {(c.candidate, c.threads) for c in comparisons}:
        return [arm for arm in arms if (arm.experiment, arm.threads) in candidates]
    traced = [arm for arm in arms if arm.operators]
    shown = min((len(arm.features_hidden) for arm in traced), default=0)
    complete = [arm for arm in traced if len(arm.features_hidden) == shown]
    return [arm for arm in complete if arm.latency] or complete


@dataclass(frozen=True)
class NextStep:
    """Something worth doing, and the time per inference it cannot save more than."""

    arm: str
    title: str
    saves_ms: float
    share: float
    reason: str
    advice: str


@dataclass(frozen=True)
class Slice:
    """A span on a track, in nanoseconds from the track's start; `depth` counts the slices it lies in."""

    name: str
    category: str
    identity: str
    depth: int
    start_ns: int
    duration_ns: int


@dataclass(frozen=True)
class Track:
    """Inferences of one arm on a time line; `inferences` is how many of them each slice stands for.

    On a track of `instants` slices are moments, such as samples, and have no length.
    """

    arm: str
    name: str
    inferences: int
    slices: tuple[Slice, ...]
    instants: bool = False


@dataclass(frozen=True)
class Finding:
    """A doubt about the measurement: what kind, what was seen, what to do."""

    kind: str
    message: str
    advice: str


@dataclass(frozen=True)
class Report:
    title: str
    model: str
    created_at: str
    context: Mapping[str, str]
    arms: tuple[ArmReport, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    next_steps: tuple[NextStep, ...] = ()
    times_are_real: bool = True
    tracks: tuple[Track, ...] = ()

    @property
    def to_improve(self) -> list[ArmReport]:
        return arms_to_improve(self.arms, self.comparisons)
