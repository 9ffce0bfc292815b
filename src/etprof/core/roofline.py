"""How far each operator is from what the CPU can do: the rows, groups and sums of a variant's roofline."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from etprof.core.operators import OperatorId

COMPUTE, OVERHEAD = "compute", "overhead"


class _AgainstFloor:
    """What follows from a time and the shortest that is possible."""

    mean_ms: float
    floor_ms: float

    @property
    def share_of_ceiling(self) -> float:
        return self.floor_ms / self.mean_ms if self.mean_ms else 0.0

    @property
    def lost_ms(self) -> float:
        return max(self.mean_ms - self.floor_ms, 0.0)


@dataclass(frozen=True)
class RooflineRow(_AgainstFloor):
    """One operator against its ceiling, per inference.

    Operations are floating-point and integer ones, two for each multiply-add. `ceiling` names the instructions that
    bound its rate, as executed where `is_executed`, else the best that the variant could use; empty where nothing is
    computed. `floor_ms` is the shortest time in which its work could be done; `bound` is what that time is due to:
    compute, a level of the memory, or overhead where the operator has too little work to be limited by either.
    """

    identity: OperatorId
    name: str
    kind: str
    category: str
    module_path: str
    mean_ms: float
    operations: int
    minimal_bytes: int
    gop_per_s: float
    gb_per_s: float
    intensity: float
    ceiling: str
    is_executed: bool
    ceiling_gop_per_s: float
    floor_ms: float
    bound: str


@dataclass(frozen=True)
class RooflineGroup(_AgainstFloor):
    """Operators with something in common: their time, the shortest possible, and what lies between."""

    name: str
    count: int
    mean_ms: float
    floor_ms: float


@dataclass(frozen=True)
class Roof:
    """A line of the chart: a rate of operations, or of bytes, in billions a second."""

    name: str
    rate: float


@dataclass(frozen=True)
class Roofline:
    """A variant against the peaks of its CPU.

    `rows` begin with the operator that loses most. `floor_ms` adds up their shortest times; `mean_ms` is the time of
    all operators, `covered_ms` that of `rows`: the work of the others is not known, and counts as nothing.
    """

    rows: tuple[RooflineRow, ...]
    groups: Mapping[str, tuple[RooflineGroup, ...]]
    compute: tuple[Roof, ...]
    memory: tuple[Roof, ...]
    mean_ms: float
    covered_ms: float
    floor_ms: float
    bounds_ms: Mapping[str, float] = field(default_factory=dict)
