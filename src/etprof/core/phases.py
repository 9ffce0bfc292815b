"""The phases of a workload, as data: each with its statistics, its curve of steps, its operators and its kernels."""

from dataclasses import dataclass
from enum import Enum

from etprof.core.estimates import Interval, Verdict
from etprof.core.plan import Variant
from etprof.core.rows import Accounting, CategoryRow, OperatorRow

# The row of all phases together.
WHOLE = "whole sequence"


class CurveShape(Enum):
    """What the time of a step does from the first step of a phase to its last.

    `CONSTANT`: it changes by no more than the equivalence bound.
    """

    GROWS = "grows"
    FALLS = "falls"
    CONSTANT = "constant"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class StepCurve:
    """The time of a phase's steps in their order, as points of one or more neighbouring steps each.

    `first_steps` is the number of the first step of each point, from 0; `positions` is where the cache stood before it.
    `median_ms` is the median of the blocks, `low_ms` and `high_ms` are their lowest and their highest. `growth` is the
    change from the first step to the last as a share of the first, `slope_ns` the same for one step, in nanoseconds.
    """

    first_steps: tuple[int, ...]
    positions: tuple[int, ...]
    median_ms: tuple[float, ...]
    low_ms: tuple[float, ...]
    high_ms: tuple[float, ...]
    growth: Interval | None
    slope_ns: Interval | None
    shape: CurveShape
    reason: str


@dataclass(frozen=True)
class PhaseKernels:
    """What was sampled in a phase: `share` is the extension's part of the samples in Convolution and GEMM operators."""

    extension: str
    shown: bool | None
    samples: int
    share: Interval | None
    verdict: str


@dataclass(frozen=True)
class PhaseVariant:
    """One variant in one phase.

    `step_ms` is the geometric mean of the blocks' median steps, `step` the same with its interval over blocks.
    `sequence_ms` is what the phase takes of a sequence, the median of all timed ones; `sequence` is the geometric mean
    of the blocks' medians with its interval. `mean_ms` is the mean instead: those of the phases and `gaps_ms`, the time
    between steps, add up to that of the whole sequence, of which each has its `share`.

    Operators and categories are traced, per step of the phase; those of the whole sequence are per sequence, and no
    operators are repeated there: they are the variant's own. `traced_steps` is how many steps they rest on.
    """

    experiment: str
    threads: int
    blocks: int
    sequences: int
    step_ms: float | None
    step: Interval | None
    sequence_ms: float | None
    sequence: Interval | None
    mean_ms: float | None
    share: float | None
    gaps_ms: float | None = None
    noise_floor: float | None = None
    curve: StepCurve | None = None
    traced_steps: int = 0
    accounting: Accounting | None = None
    categories: tuple[CategoryRow, ...] = ()
    operators: tuple[OperatorRow, ...] = ()
    kernels: PhaseKernels | None = None

    @property
    def variant(self) -> Variant:
        return Variant(self.experiment, self.threads)


@dataclass(frozen=True)
class PhaseComparison:
    """Two variants in one phase. Speed-up is baseline time / candidate time, of what the phase takes of a sequence."""

    baseline: Variant
    candidate: Variant
    speedup: Interval | None
    noise_floor: float | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class PhaseResult:
    """One phase with each variant that has it; `steps` is how many it has in a sequence.

    `tokens` is how far one step moves the position. `is_whole` marks the row of a whole sequence.
    """

    name: str
    method: str
    steps: int
    tokens: int
    variants: tuple[PhaseVariant, ...]
    comparisons: tuple[PhaseComparison, ...]
    is_whole: bool = False

    def find(self, variant: Variant) -> PhaseVariant | None:
        return next((each for each in self.variants if each.variant == variant), None)


@dataclass(frozen=True)
class Phases:
    """The phases of a run's workloads in their order, and behind them the whole sequence of each workload.

    Verdicts on phases hold together, with `confidence`, for all `comparisons` of phases (Holm); so do the shapes of all
    `curves`. A whole sequence has the verdict of the comparison of its variants.
    """

    rows: tuple[PhaseResult, ...]
    comparisons: int
    curves: int
    confidence: float
    equivalence_bound: float
