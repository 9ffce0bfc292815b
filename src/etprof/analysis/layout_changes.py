"""The layout churn of an arm and the modules its operators come from, as rows of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from etprof.analysis.alignment import align_traces, iter_mapped
from etprof.analysis.model_graph import GraphNode, ModelGraph
from etprof.analysis.transposes import build_movements, find_pairs
from etprof.core.report import CancellingTransposes, LayoutChange, OperatorRow
from etprof.core.trace import Trace


def find_nodes(traces: Sequence[Trace], graph: ModelGraph | None) -> dict[str, GraphNode]:
    """The graph node of each operator that has a certain one, by the operator's identity."""
    return dict(iter_mapped(align_traces(traces, graph))) if graph else {}


def name_modules(operators: Sequence[OperatorRow], nodes: Mapping[str, GraphNode]) -> tuple[OperatorRow, ...]:
    return tuple(
        replace(row, module_path=nodes[row.identity].module_path) if row.identity in nodes else row for row in operators
    )


def list_layout_changes(operators: Sequence[OperatorRow], nodes: Mapping[str, GraphNode]) -> tuple[LayoutChange, ...]:
    return tuple(
        LayoutChange(
            identity=movement.row.identity,
            name=movement.row.name,
            kind=movement.row.subcategory,
            mean_ms=movement.row.mean_ms,
            share=movement.row.share,
            bytes_moved=movement.bytes_moved,
            gb_per_s=movement.gb_per_s,
            shape=movement.shape,
            module_path=movement.module_path,
            cause=movement.cause,
        )
        for movement in build_movements(operators, nodes)
    )


def list_cancelling(
    operators: Sequence[OperatorRow], nodes: Mapping[str, GraphNode], graph: ModelGraph | None, trace: Trace
) -> tuple[CancellingTransposes, ...]:
    if graph is None or not nodes:
        return ()
    return tuple(
        CancellingTransposes(
            first=f"{pair.first.row.name} [{pair.first.row.identity}]",
            second=f"{pair.second.row.name} [{pair.second.row.identity}]",
            saves_ms=pair.saved_ms,
            kind=pair.kind,
            evidence=pair.evidence,
        )
        for pair in find_pairs(operators, nodes, graph, trace)
    )
