"""Why a model executes the kernels it does, as data: predicted for each kind of CPU, and what executed beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from etprof.core.advice import ModelStep
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.predictions import CpuLevel


@dataclass(frozen=True, kw_only=True)
class ExplainedNode:
    """One node of the graph: its place, its layer, and the family of kernels it takes on each kind of CPU.

    `partition` is None for an operator that was not delegated. `share` is that of the time of an inference, None
    without a run; `macs` is None where the graph does not tell. A family is None where it is unknown.
    """

    partition: int | None
    index: int
    type: str
    kind: str
    data_type: str
    module_path: str
    shapes: str
    macs: int | None
    share: float | None
    is_compute: bool
    families: Mapping[CpuLevel, str | None]
    obstacle: str
    why: str
    change: str

    @property
    def is_delegated(self) -> bool:
        return self.partition is not None


@dataclass(frozen=True, kw_only=True)
class KernelGroup:
    """Layers of one kind that take the same kernels for the same reason; the part of the model that they are.

    `macs_share` is that of all multiply-accumulates of the model, None where those of one of them are not known.
    """

    kind: str
    data_type: str
    count: int
    is_compute: bool
    families: Mapping[CpuLevel, str | None]
    obstacle: str
    why: str
    change: str
    modules: tuple[str, ...]
    shapes: tuple[str, ...]
    share: float | None
    macs_share: float | None


@dataclass(frozen=True, kw_only=True)
class LeftGroup:
    """Operators that were not delegated, for one reason; `instead` is what to write so that they are, as code."""

    operator: str
    count: int
    data_type: str
    reason: str
    advice: str
    before: str
    instead: str
    modules: tuple[str, ...]
    shapes: tuple[str, ...]
    share: float | None


@dataclass(frozen=True)
class Disagreement:
    """An operator that executed another family of kernels than predicted."""

    identity: OperatorId
    name: str
    module_path: str
    kind: str
    predicted: str
    executed: str


@dataclass(frozen=True, kw_only=True)
class KernelCheck:
    """What was predicted against what one sampled variant executed, over its compute operators.

    `agreed` and the disagreements are those that both the table and the samples decide. `unpredicted` are not in the
    table, `undecided` have too few samples, `unmatched` have no certain node.
    """

    variant: Variant
    level: CpuLevel
    agreed: int
    disagreements: tuple[Disagreement, ...] = ()
    unpredicted: int = 0
    undecided: int = 0
    unmatched: int = 0


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One method of a model, or what a run measured of it.

    `executorch` and its commit are those of the probed table; empty where there is none, and nothing is predicted.
    `variant` is the one whose times give the shares. `steps` is the advice of a model that was not run; a run has next
    steps.
    """

    model: str
    method: str
    executorch: str
    executorch_commit: str
    nodes: tuple[ExplainedNode, ...]
    groups: tuple[KernelGroup, ...]
    left: tuple[LeftGroup, ...]
    variant: Variant | None = None
    checks: tuple[KernelCheck, ...] = ()
    steps: tuple[ModelStep, ...] = ()


class ExplainedRecord(NamedTuple):
    """A node in the columns of a table."""

    method: str
    partition: int | None
    node: int
    type: str
    kind: str
    data_type: str
    module_path: str
    shapes: str
    macs: int | None
    share: float | None
    on_sme2: str
    on_i8mm: str
    on_dotprod: str
    obstacle: str
    why: str
    change: str


def list_explained(explanation: Explanation) -> Iterator[ExplainedRecord]:
    for node in explanation.nodes:
        sme2, i8mm, dot = (node.families.get(level) or "" for level in CpuLevel)
        yield ExplainedRecord(
            explanation.method, node.partition, node.index, node.type, node.kind, node.data_type, node.module_path,
            node.shapes, node.macs, node.share, sme2, i8mm, dot, node.obstacle, node.why, node.change,
        )  # fmt: skip
