"""The finished analysis, as data: every report format renders this one object and computes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from etprof.core.advice import SavedFrom
from etprof.core.estimates import Interval, Verdict
from etprof.core.explanation import Explanation
from etprof.core.exploration import Choice
from etprof.core.findings import Finding
from etprof.core.forecast import Forecast
from etprof.core.graph_view import GraphView
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.memory import ActivationPlan, MemoryUse
from etprof.core.operators import OperatorId
from etprof.core.phases import Phases
from etprof.core.plan import Variant
from etprof.core.program_use import ProgramUse
from etprof.core.roofline import Roofline
from etprof.core.rows import Accounting, AllocationRow, ApartRow, CategoryRow, OperatorRow, RollupRow
from etprof.core.scaling import Scaling
from etprof.core.work import Work


@dataclass(frozen=True)
class LatencySummary:
    """Steady iterations of all blocks of one variant, in milliseconds; untraced, unless the runner left no choice."""

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
class LayoutChange:
    """An operator that only moves data; bytes, rate, shape and module are known where the model's graph is."""

    identity: OperatorId
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
class CancellingPair:
    """A transpose and the one that undoes it, with only elementwise operators or a delegate boundary between."""

    first: LayoutChange
    second: LayoutChange
    between: tuple[str, ...]
    kind: str
    evidence: str
    saves_ms: float

    @property
    def is_at_border(self) -> bool:
        """Whether one ends a delegate call and the other begins the next."""
        return self.kind.startswith("boundary")


@dataclass(frozen=True)
class VariantReport:
    """One experiment at one thread count; `samples_ms` has the timed iterations of each block.

    `noise_floor` is the share by which the variant differs from itself, from its blocks alone. `rollups` are its
    operators in groups: by kind of layer, by module and by shape. `apart` are events of delegates that are in no sum.
    `roofline` compares the operators with what the CPU can do, where that and their work is known.
    """

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
    cancelling: tuple[CancellingPair, ...] = ()
    evidence: KernelEvidence | None = None
    noise_floor: float | None = None
    rollups: Mapping[str, tuple[RollupRow, ...]] = field(default_factory=dict)
    apart: tuple[ApartRow, ...] = ()
    allocations: tuple[AllocationRow, ...] = ()
    roofline: Roofline | None = None
    program: ProgramUse | None = None
    memory: MemoryUse | None = None
    load_options: str = ""

    @property
    def variant(self) -> Variant:
        return Variant(self.experiment, self.threads)

    @property
    def label(self) -> str:
        return self.variant.label


@dataclass(frozen=True)
class CategoryChange:
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
    """One operator before and after, per inference; no identity, time or share on the side that does not have it.

    `is_slower` is true where it became slower by more than its times spread and by what is worth a word.
    """

    name: str
    category: str
    delegated: bool
    baseline_identity: OperatorId | None
    candidate_identity: OperatorId | None
    baseline_ms: float | None
    candidate_ms: float | None
    baseline_share: float | None
    candidate_share: float | None
    share_of_gain: float | None
    newly_dominant: bool
    baseline_name: str = ""
    module_path: str = ""
    kind: str = ""
    work: Work | None = None
    is_slower: bool = False

    @property
    def identity(self) -> OperatorId:
        """In the candidate, or in the baseline where the candidate has none."""
        identity = self.candidate_identity or self.baseline_identity
        assert identity is not None  # one of them is what the change was made from
        return identity

    @property
    def gain_ms(self) -> float:
        return (self.baseline_ms or 0.0) - (self.candidate_ms or 0.0)

    @property
    def speedup(self) -> float | None:
        return self.baseline_ms / self.candidate_ms if self.baseline_ms and self.candidate_ms else None


@dataclass(frozen=True)
class RollupChange:
    """A group of operators before and after; None on the side that has none of them."""

    name: str
    baseline: RollupRow | None
    candidate: RollupRow | None

    @property
    def gain_ms(self) -> float:
        return (self.baseline.mean_ms if self.baseline else 0.0) - (self.candidate.mean_ms if self.candidate else 0.0)

    @property
    def speedup(self) -> float | None:
        if not self.baseline or not self.candidate or not self.baseline.mean_ms or not self.candidate.mean_ms:
            return None
        return self.baseline.mean_ms / self.candidate.mean_ms


@dataclass(frozen=True)
class Comparison:
    """Two variants against each other. Speed-up is baseline time / candidate time.

    `equivalence_bound` is the share up to which a difference counts as none. Two programs that differ have no
    `output_difference`: each has its own distance to the eager model. `family` is the number of comparisons whose
    verdicts hold together with `family_confidence` (Holm); 1 where each is judged by itself.
    """

    baseline: Variant
    candidate: Variant
    speedup: Interval | None
    noise_floor: float | None
    p_value: float | None
    verdict: Verdict
    reason: str
    categories: tuple[CategoryChange, ...]
    bottleneck_before: str
    bottleneck_after: str
    output_difference: float | None
    operators: tuple[OperatorChange, ...] = ()
    equivalence_bound: float = 0.02
    rollups: Mapping[str, tuple[RollupChange, ...]] = field(default_factory=dict)
    same_program: bool = True
    family: int = 1
    family_confidence: float = 0.95

    @property
    def title(self) -> str:
        """on against off (1 thread); where the thread counts differ, each side says its own."""
        if self.baseline.threads != self.candidate.threads:
            return f"{self.candidate.label} against {self.baseline.label}"
        threads = self.candidate.threads
        count = f"{threads} thread{'s' if threads != 1 else ''}"
        return f"{self.candidate.experiment} against {self.baseline.experiment} ({count})"

    @property
    def sides(self) -> tuple[Variant, Variant]:
        return self.baseline, self.candidate

    @property
    def names(self) -> tuple[str, str]:
        """What tells baseline and candidate apart, as short as can be."""
        if self.baseline.threads != self.candidate.threads:
            return self.baseline.label, self.candidate.label
        return self.baseline.experiment, self.candidate.experiment


def variants_to_improve(variants: Sequence[VariantReport], comparisons: Sequence[Comparison]) -> list[VariantReport]:
    """The candidates of the comparisons; where nothing is compared, those that hide least, timed ones if there are."""
    if candidates := {comparison.candidate for comparison in comparisons}:
        return [variant for variant in variants if variant.variant in candidates]
    traced = [variant for variant in variants if variant.operators]
    shown = min((len(variant.features_hidden) for variant in traced), default=0)
    complete = [variant for variant in traced if len(variant.features_hidden) == shown]
    return [variant for variant in complete if variant.latency] or complete


@dataclass(frozen=True)
class NextStep:
    """Something worth doing, found by a rule, and what it saves: at most that much, or an estimate without `is_bound`.

    `saved_from` is what the time is saved from, and what `share` is a share of: each inference, the first one only, or
    loading the model. `operators` are those that the rule speaks about.
    """

    variant: Variant
    rule: str
    title: str
    saves_ms: float
    share: float
    reason: str
    advice: str
    is_bound: bool = True
    saved_from: SavedFrom = SavedFrom.INFERENCE
    operators: tuple[OperatorId, ...] = ()


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
    """Inferences of one variant on a time line; `inferences` is how many of them each slice stands for.

    On a track of `instants` slices are moments, such as samples, and have no length. Tracks of one `thread` belong
    together; it is the system's number of the thread, None where it is not known.
    """

    variant: Variant
    name: str
    inferences: int
    slices: tuple[Slice, ...]
    instants: bool = False
    thread: int | None = None


@dataclass(frozen=True)
class Counter:
    """A quantity over a run; `points` are nanoseconds from the start of the run, and values."""

    name: str
    unit: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class RunLine:
    """The blocks of a run in the order they ran, and what the device said of itself in them."""

    blocks: tuple[Slice, ...]
    counters: tuple[Counter, ...]


@dataclass(frozen=True)
class Report:
    title: str
    model: str
    created_at: str
    context: Mapping[str, str]
    variants: tuple[VariantReport, ...]
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    next_steps: tuple[NextStep, ...] = ()
    times_are_real: bool = True
    tracks: tuple[Track, ...] = ()
    run_line: RunLine | None = None
    scaling: Scaling | None = None
    explanation: Explanation | None = None
    choice: Choice | None = None
    views: tuple[GraphView, ...] = ()
    forecast: Forecast | None = None
    phases: Phases | None = None
    plans: tuple[ActivationPlan, ...] = ()

    def of(self, variant: Variant) -> VariantReport:
        return next(each for each in self.variants if each.variant == variant)

    @property
    def measured(self) -> tuple[VariantReport, ...]:
        """Without variants that were only sampled, which have a section of their own; all, if there are no others."""
        return tuple(v for v in self.variants if v.latency or not v.evidence) or self.variants

    @property
    def compares_programs(self) -> bool:
        """Whether it is about more than one program: then latency and accuracy belong together."""
        return len({variant.program.identity for variant in self.variants if variant.program}) > 1

    @property
    def to_improve(self) -> list[VariantReport]:
        return variants_to_improve(self.variants, self.comparisons)
