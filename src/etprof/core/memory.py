"""What a program costs before its first answer: the stages of a start, the memory they hold, and the program's plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

# The stages of a start, in order; runners name them so. `packing` is the moment within the loading of a method at
# which most memory is resident, `inputs` the moment before the first inference.
PROCESS, LIBRARIES, PROGRAM, PACKING, METHOD, INPUTS, FIRST, STEADY = (
    "process", "libraries", "program", "packing", "method", "inputs", "first inference", "steady",
)  # fmt: skip
STAGES = (PROCESS, LIBRARIES, PROGRAM, PACKING, METHOD, INPUTS, FIRST, STEADY)
# Those that take time which a user waits for.
TIMED_STAGES = (PROCESS, LIBRARIES, PROGRAM, METHOD, FIRST)


@dataclass(frozen=True)
class LoadStage:
    """A stage of a start: how long it took, and what the process holds at its end; None where it is not known.

    `peak_bytes` is the most resident memory since the stage before. The last five add up to `rss_bytes`: pages of the
    model's file, of libraries and the runner itself, of the file of packed weights, of other files, and of none.
    """

    name: str
    duration_ns: int | None = None
    peak_bytes: int | None = None
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    model_bytes: int | None = None
    library_bytes: int | None = None
    cache_bytes: int | None = None
    file_bytes: int | None = None
    anonymous_bytes: int | None = None


class Cached(Enum):
    """Whether the model's file was in the page cache when the block loaded it."""

    IN = "in the page cache"
    OUT = "out of the page cache"
    PARTLY = "partly in the page cache"
    UNKNOWN = "page cache unknown"


def classify_cached(share: float | None) -> Cached:
    """A page or two of a file may stay, such as those that its check just read."""
    if share is None:
        return Cached.UNKNOWN
    return Cached.IN if share >= 0.99 else Cached.OUT if share <= 0.05 else Cached.PARTLY


@dataclass(frozen=True)
class StageMemory:
    """Resident memory at the end of a stage: medians over the blocks of a variant."""

    name: str
    rss_bytes: int
    pss_bytes: int | None
    peak_bytes: int | None


@dataclass(frozen=True)
class MemoryPart:
    """What a part of the peak is; `share` is that of the peak."""

    name: str
    bytes: int
    share: float


@dataclass(frozen=True)
class StartStage:
    """`duration_ms` is the median over blocks, None where no block tells."""

    name: str
    duration_ms: float | None


@dataclass(frozen=True)
class Start:
    """How long a start takes with the model's file in the page cache, or out of it."""

    cached: Cached
    blocks: int
    stages: tuple[StartStage, ...]

    @property
    def total_ms(self) -> float:
        """Of the stages that are known."""
        return sum(stage.duration_ms or 0.0 for stage in self.stages)


@dataclass(frozen=True)
class MemoryUse:
    """The memory of a variant. `parts` are those of the block with the highest peak, and add up to `peak_bytes`.

    They are empty where the system does not say what memory is for. `block_peaks` has the peak of each block.
    `stayed_cached` counts blocks whose model's file was to leave the page cache and did not.
    """

    peak_bytes: int
    block_peaks: tuple[int, ...]
    parts: tuple[MemoryPart, ...] = ()
    stages: tuple[StageMemory, ...] = ()
    starts: tuple[Start, ...] = ()
    stayed_cached: int = 0

    @property
    def unattributed(self) -> float:
        """The share of the peak that no part explains."""
        return next((part.share for part in self.parts if part.name == UNATTRIBUTED), 0.0)


# Parts of a peak.
MODEL_FILE = "model file"
LIBRARY_PART = "libraries and runner"
PLANNED = "planned activations"
PACKED = "packed weights"
PACKED_FILE = "packed weights, file"
WORKSPACE = "workspace"
RUNTIME = "heap and stacks before the model"
RUNNER_DATA = "inputs and kept outputs"
OTHER_FILES = "other files"
UNATTRIBUTED = "unattributed"


@dataclass(frozen=True)
class PlannedTensor:
    """A tensor that is alive where the plan is at its peak."""

    label: str
    bytes: int
    producer: str


@dataclass(frozen=True)
class ActivationPlan:
    """The memory that a program planned for what a method computes, operator by operator.

    `buffers` are the sizes of its buffers. `live_bytes` has what is alive while each of `operators` runs; a delegate
    is one operator, of which the plan knows inputs and outputs only. `tensors` are those of the peak.
    """

    model: str
    method: str
    buffers: tuple[int, ...]
    operators: tuple[str, ...] = ()
    live_bytes: tuple[int, ...] = ()
    tensors: tuple[PlannedTensor, ...] = field(default=())

    @property
    def total_bytes(self) -> int:
        return sum(self.buffers)

    @property
    def peak_bytes(self) -> int:
        return max(self.live_bytes, default=0)

    @property
    def peak_operator(self) -> int | None:
        return self.live_bytes.index(self.peak_bytes) if self.live_bytes else None


def find_stage(stages: Sequence[LoadStage], name: str) -> LoadStage | None:
    return next((stage for stage in stages if stage.name == name), None)
