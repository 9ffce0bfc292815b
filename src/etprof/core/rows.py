"""Rows of the tables that traces become: time by owner, by category and by operator.

Apart from the report that holds them, so that reading a trace does not wait for everything else in it.
"""

from dataclasses import dataclass

from etprof.core.operators import OperatorId


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


@dataclass(frozen=True)
class OperatorRow:
    """One operator of the model, over all traced inferences; `samples_ms` are some of them, evenly taken in order."""

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
