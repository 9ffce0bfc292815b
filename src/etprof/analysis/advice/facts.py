"""What is known of a model, and of one variant of a run of it: the one object that every rule of advice looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from etprof.core.extensions import ARM64
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.model import ExportMeta
from etprof.core.operators import OperatorId
from etprof.core.predictions import SME2, CpuLevel, NodePrediction
from etprof.core.report import CancellingPair, Comparison, LayoutChange, VariantReport
from etprof.core.rows import OperatorRow
from etprof.core.run import BlockResult, DeviceInfo
from etprof.core.scaling import Scaling

MACS, BYTES = "multiply-accumulates", "bytes moved"


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of a trace, with its node where that is known. Without a run the row is the node's, without times."""

    row: OperatorRow
    node: GraphNode | None = None
    prediction: NodePrediction | None = None

    @property
    def identity(self) -> OperatorId:
        return self.row.identity

    @property
    def is_predicted_sme2(self) -> bool:
        """Whether the probed table of kernels says that it runs on the matrix unit; False where that is unknown."""
        return self._predicted == SME2

    @property
    def is_predicted_other(self) -> bool:
        """Whether that table says that it does not; False where that is unknown."""
        return self._predicted not in (SME2, None)

    @property
    def _predicted(self) -> str | None:
        return self.prediction.families.get(CpuLevel.SME2) if self.prediction else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Background:
    """What is known of a variant beside its part of the report; `off` are the rules that the plan switches off.

    `between` has the undelegated operators that run after each delegate call, `nodes` the graph node of each operator,
    `predictions` are by partition, which is None outside of all of them, and number of the node.
    """

    nodes: Mapping[OperatorId, GraphNode] = field(default_factory=dict)
    graph: ModelGraph | None = None
    between: Mapping[int, Sequence[str]] = field(default_factory=dict)
    predictions: Mapping[tuple[int | None, int], NodePrediction] = field(default_factory=dict)
    export_meta: ExportMeta | None = None
    device: DeviceInfo | None = None
    results: Sequence[BlockResult] = ()
    scaling: Scaling | None = None
    off: Sequence[str] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Facts:
    """`variant` is None without a run; `compared` are its comparisons with their baselines.

    `claimed` are operators that more specific rules have found something about.
    """

    operators: tuple[Operator, ...]
    background: Background = field(default_factory=Background)
    layout_changes: tuple[LayoutChange, ...] = ()
    cancelling: tuple[CancellingPair, ...] = ()
    variant: VariantReport | None = None
    compared: tuple[tuple[VariantReport, Comparison], ...] = ()
    claimed: frozenset[OperatorId] = frozenset()

    @cached_property
    def unclaimed(self) -> tuple[Operator, ...]:
        return tuple(each for each in self.operators if each.identity not in self.claimed)

    @cached_property
    def whole_ms(self) -> float:
        return sum(row.mean_ms for row in self.variant.categories) if self.variant else 0.0

    @cached_property
    def calls(self) -> int:
        """Delegate calls of an inference."""
        calls: dict[int, set[int]] = {}
        for each in self.operators:
            if each.row.delegated:
                calls.setdefault(each.identity.kind or 0, set()).add(each.identity.call)
        return max(map(len, calls.values()), default=0)

    @property
    def has_sme(self) -> bool:
        """Whether kernels for SME could run. A model without a run may run on any CPU."""
        if self.variant is None:
            return True
        device = self.background.device
        features = set(device.features) - set(self.variant.features_hidden) if device else set()
        return device is not None and device.architecture == ARM64 and bool(features & {"sme", "sme2"})

    def find_place(self, operator: Operator) -> str:
        """Its module, which the layout changes know better than the operators."""
        return self._places.get(operator.identity) or operator.row.module_path

    @cached_property
    def _places(self) -> dict[OperatorId, str]:
        return {change.identity: change.module_path for change in self.layout_changes}

    def overhead_ms(self, name: str) -> float:
        """The time of a category, such as one of the overheads."""
        return sum(row.mean_ms for row in self.variant.categories if row.name == name) if self.variant else 0.0

    def measure_share(self, operators: Sequence[Operator]) -> tuple[float | None, str]:
        """Without a run: of all multiply-accumulates or, where the operators have none, of all bytes moved."""
        for measure in (MACS, BYTES):
            own, whole = (sum(_measure(each, measure) for each in some) for some in (operators, self.operators))
            if own:
                return own / whole, measure
        return None, ""

    def share_of(self, operators: Sequence[Operator]) -> float:
        """Of the time of an inference; without a run of what `measure_share` measures."""
        if self.variant is None:
            return self.measure_share(operators)[0] or 0.0
        return sum(each.row.share for each in operators)


def _measure(operator: Operator, measure: str) -> int:
    work = operator.row.work
    return ((work.macs if measure == MACS else work.minimal_bytes) or 0) if work else 0
