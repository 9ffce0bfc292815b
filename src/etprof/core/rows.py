"""Rows of the tables that traces become: time by owner, by category, by operator and by groups of operators.

Apart from the report that holds them, so that reading a trace does not wait for everything else in it.
"""

from dataclasses import dataclass

from etprof.core.operators import OperatorId
from etprof.core.work import Work

# The group of operators whose module is not known.
NO_MODULE = "no module"


@dataclass(frozen=True)
class Accounting:
    """Where traced time went, summed over `runs` inferences; the five parts add up to the whole exactly.

    `undivided_ns` is time in delegate calls that is not known to be any operator's, nor overhead.
    """

    runs: int
    end_to_end_ns: int
    delegated_ns: int
    portable_ns: int
    delegate_overhead_ns: int
    framework_overhead_ns: int
    setup_ns: int
    undivided_ns: int = 0

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
class ApartRow:
    """An event of a delegate that is in no sum, and why: `reason` is stage, overlapping or other clock.

    On another clock it has a mean number of that clock's units, which are unknown, and no time.
    """

    identity: OperatorId
    name: str
    reason: str
    count: int
    mean_ms: float | None
    mean_ticks: float | None
    metadata: str = ""


@dataclass(frozen=True)
class AllocationRow:
    """What was taken from one of the runtime's allocators; an inference's part is the mean over all of them."""

    allocator: str
    allocations_per_inference: float
    bytes_per_inference: float
    allocations_outside: int
    bytes_outside: int


@dataclass(frozen=True)
class KernelUse:
    """A kernel that was seen executing, and in how many samples of the program counter."""

    name: str
    instruction_class: str
    samples: int


@dataclass(frozen=True)
class OperatorRow:
    """One operator of the model, over all traced inferences; `samples_ms` are some of them, evenly taken in order.

    `kind` is the kind of layer. `work` and the rate it was done at are known where the model's graph is.
    """

    identity: OperatorId
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
    kind: str = ""
    work: Work | None = None
    gmac_per_s: float | None = None


@dataclass(frozen=True)
class RollupRow:
    """Operators with something in common, per inference; the rows add up to the time that operators own.

    `macs` is None where those of one of its operators are not known.
    """

    name: str
    count: int
    mean_ms: float
    share: float
    macs: int | None
    gmac_per_s: float | None
