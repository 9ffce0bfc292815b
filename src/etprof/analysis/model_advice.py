"""Rules of advice applied to a run, and to a model that was not run."""

from collections.abc import Mapping, Sequence

from etprof.analysis.advice.facts import Background, Facts, Operator
from etprof.analysis.advice.next_steps import find_model_steps
from etprof.analysis.graph.data_movement import list_between_calls, list_layout_changes, pair_transposes
from etprof.analysis.graph.event_patterns import EVENTS
from etprof.analysis.graph.work import build_work
from etprof.analysis.predicted_kernels import PredictedVariant, index_predictions
from etprof.core.advice import ModelStep
from etprof.core.categories import categorize
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.model import ExportMeta
from etprof.core.operators import DELEGATED, PORTABLE, OperatorId
from etprof.core.plan import Variant
from etprof.core.predictions import NodePrediction
from etprof.core.rows import OperatorRow
from etprof.core.scaling import Scaling

Nodes = Mapping[OperatorId, GraphNode]


def find_model_advice(
    graph: ModelGraph, predictions: Sequence[NodePrediction] = (), export_meta: ExportMeta | None = None
) -> tuple[ModelStep, ...]:
    """What the rules say of a model that was not run, by its share of multiply-accumulates or of bytes moved."""
    nodes = {
        OperatorId.build(DELEGATED, node.index, call=call): node
        for call, partition in enumerate(graph.partitions)
        for node in partition
    }
    nodes |= {OperatorId.build(PORTABLE, node.index): node for node in graph.undelegated}
    rows = [_build_row(identity, node) for identity, node in nodes.items()]
    predicted = index_predictions(predictions)
    facts = Facts(
        operators=tuple(Operator(row, nodes[row.identity], predicted.get(_place(row.identity))) for row in rows),
        background=Background(nodes=nodes, graph=graph, predictions=predicted, export_meta=export_meta),
        layout_changes=list_layout_changes(rows, nodes, graph),
        cancelling=pair_transposes(rows, nodes, graph, {}),
    )
    return find_model_steps(facts)


def list_backgrounds(
    run: LoadedRun,
    nodes: Mapping[Variant, Nodes],
    predicted: Mapping[Variant, PredictedVariant],
    scaling: Scaling | None,
) -> dict[Variant, Background]:
    """What rules may know of each variant beside its part of the report."""
    return {
        loaded.variant: _build_background(loaded, nodes[loaded.variant], predicted.get(loaded.variant), scaling)
        for loaded in run.variants
    }


def _build_background(
    loaded: LoadedVariant, nodes: Nodes, predicted: PredictedVariant | None, scaling: Scaling | None
) -> Background:
    session = loaded.session
    return Background(
        nodes=nodes,
        graph=loaded.graph,
        between=list_between_calls(loaded.traces[0]) if loaded.traces else {},
        predictions=index_predictions(predicted.predictions) if predicted else {},
        export_meta=loaded.record.export_meta,
        device=session.device,
        results=loaded.results,
        scaling=scaling,
        off=session.plan.advice_off,
    )


def _place(identity: OperatorId) -> tuple[int | None, int]:
    return (identity.call if identity.group == DELEGATED else None), identity.position


def _build_row(identity: OperatorId, node: GraphNode) -> OperatorRow:
    """A row as a trace would have it, without times."""
    work = build_work(node)
    name = _name_event(node, work.kind)
    category = categorize(name)
    return OperatorRow(
        identity=identity,
        name=name,
        category=category.name,
        subcategory=category.subcategory,
        delegated=identity.group == DELEGATED,
        count=0,
        mean_ms=0.0,
        median_ms=0.0,
        share=0.0,
        module_path=node.module_path,
        kind=work.kind,
        work=work,
    )


def _name_event(node: GraphNode, kind: str) -> str:
    """What the node would be called in a trace, by which its category is found."""
    if node.type not in EVENTS:
        return node.type
    event = EVENTS[node.type][0]
    if "depthwise" in kind:
        return f"{event} (NHWC) DWConv"
    if kind == "1x1 convolution":
        return f"{event} (NHWC) GEMM"
    # Unary operators are recorded with one layout, all others are known by any.
    whole = f"{event} (ND)"
    return whole if categorize(whole).matched else f"{event} (NC)"
