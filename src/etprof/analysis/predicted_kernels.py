"""Predictions beside a run: that of each operator's node, and what executed against what was predicted."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from etprof.analysis.executed_kernels import ExecutedNode, list_executed
from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.graph.work import build_work
from etprof.analysis.kernels.missing_kernels import Expected
from etprof.analysis.kernels.predictions import predict_kernels
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.core.categories import COMPUTE
from etprof.core.explanation import Disagreement, KernelCheck
from etprof.core.findings import Finding, FindingKind
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.operators import DELEGATED, OperatorId
from etprof.core.plan import Variant
from etprof.core.predictions import PROBE_COMMAND, CpuLevel, KernelTable, NodePrediction
from etprof.core.report import Report

Nodes = Mapping[OperatorId, GraphNode]
# By version of ExecuTorch.
KernelTables = Mapping[str, KernelTable | None]
# What a CPU has to have for each level, the best first.
_FEATURES = {CpuLevel.SME2: "sme2", CpuLevel.I8MM: "i8mm", CpuLevel.DOT_PRODUCT: "dot"}


@dataclass(frozen=True, eq=False)
class PredictedVariant:
    """`level` is what the CPU showed to the kernels, None for one that was not probed, such as a CPU with SME alone."""

    level: CpuLevel | None
    table: KernelTable | None
    predictions: tuple[NodePrediction, ...]
    nodes: Nodes

    @cached_property
    def by_operator(self) -> dict[OperatorId, NodePrediction]:
        """The prediction of every operator that has a certain node."""
        known = index_predictions(self.predictions)
        return {identity: known[place_node(identity, node)] for identity, node in self.nodes.items()}

    @property
    def expected(self) -> Expected:
        return Expected(self.level, self.by_operator)


def place_node(identity: OperatorId, node: GraphNode) -> tuple[int | None, int]:
    """The partition of an operator's node, None outside of all of them, and its number there."""
    return identity.call if identity.group == DELEGATED else None, node.index


def index_predictions(predictions: Iterable[NodePrediction]) -> dict[tuple[int | None, int], NodePrediction]:
    """By partition, which is None outside of all of them, and by the number of the node."""
    return {(each.partition, each.node.index): each for each in predictions}


def predict_run(
    run: LoadedRun, tables: KernelTables, nodes: Mapping[Variant, Nodes]
) -> dict[Variant, PredictedVariant]:
    """Of each variant whose graph is known; variants of one graph share their predictions.

    `nodes` are those that are known already; a variant without times may have been sampled all the same.
    """
    found: dict[Variant, PredictedVariant] = {}
    made: dict[tuple[int, str], tuple[NodePrediction, ...]] = {}
    for loaded in run.variants:
        if loaded.graph is None or not loaded.results:
            continue
        version = loaded.results[0].executorch_version
        key = (id(loaded.graph), version)
        if key not in made:
            made[key] = predict_kernels(loaded.graph, tables.get(version))
        own = nodes.get(loaded.variant) or _find_nodes(loaded, loaded.graph)
        level = find_level(set(loaded.results[0].features_seen) - set(loaded.results[0].features_hidden))
        found[loaded.variant] = PredictedVariant(level, tables.get(version), made[key], own)
    return found


def _find_nodes(loaded: LoadedVariant, graph: ModelGraph) -> Nodes:
    return list_mapped(align_operators(collect_operators(loaded.traces), graph)) if loaded.sampled else {}


def find_level(features: Collection[str]) -> CpuLevel | None:
    """What a CPU of these features stands for."""
    # SME without SME2 has kernels of its own, which were not probed.
    if "sme" in features and "sme2" not in features:
        return None
    return next((level for level, feature in _FEATURES.items() if feature in features), None)


def check_predictions(report: Report, predicted: Mapping[Variant, PredictedVariant]) -> tuple[KernelCheck, ...]:
    """A check for each variant that was sampled on a CPU of a level that was probed."""
    return tuple(
        _check(variant.evidence, predicted[variant.variant], level)
        for variant in report.variants
        if variant.evidence and variant.variant in predicted and (level := predicted[variant.variant].level)
    )


def _check(evidence: KernelEvidence, predicted: PredictedVariant, level: CpuLevel) -> KernelCheck:
    known = index_predictions(predicted.predictions)
    names = {row.identity: row.name for row in evidence.operators if row.category in COMPUTE and row.delegated}
    executed = [each for each in list_executed(evidence, predicted.nodes) if each.identity in names]
    pairs = [(each, known[each.partition, each.node.index].families[level]) for each in executed]
    decided = [(each, family) for each, family in pairs if family and each.family]
    return KernelCheck(
        variant=evidence.variant,
        level=level,
        agreed=sum(each.family == family for each, family in decided),
        disagreements=tuple(_list_disagreements(decided, names)),
        unpredicted=sum(not family for _, family in pairs),
        undecided=sum(bool(family) and not each.family for each, family in pairs),
        unmatched=len(names) - len(executed),
    )


def _list_disagreements(
    decided: Sequence[tuple[ExecutedNode, str]], names: Mapping[OperatorId, str]
) -> Iterator[Disagreement]:
    for each, family in decided:
        if each.family and each.family != family:
            yield Disagreement(
                identity=each.identity,
                name=names[each.identity],
                module_path=each.node.module_path,
                kind=build_work(each.node).kind,
                predicted=family,
                executed=each.family,
            )


def find_disagreements(checks: Sequence[KernelCheck]) -> Iterator[Finding]:
    """A finding for each kind of layer and pair of families, with the operators it was seen in."""
    for check in checks:
        groups: dict[tuple[str, str, str], list[Disagreement]] = {}
        for each in check.disagreements:
            groups.setdefault((each.kind, each.predicted, each.executed), []).append(each)
        for (kind, predicted, executed), rows in groups.items():
            place = f" ({rows[0].module_path})" if rows[0].module_path else ""
            count = f"{len(rows)} operators" if len(rows) > 1 else "1 operator"
            yield Finding(
                FindingKind.PREDICTION,
                f"{check.variant.label}: {count} of kind {kind} executed {executed} where {predicted} was predicted, "
                f"such as {rows[0].name}{place}.",
                f"Trust what executed. The table of kernels does not fit this build: probe it again, {PROBE_COMMAND}.",
            )
