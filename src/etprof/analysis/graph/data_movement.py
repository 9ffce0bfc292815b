"""Layout churn: what transposes, copies, reshapes, pads and conversions cost, and which of them cancel each other."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from etprof.analysis.graph.movement_causes import TRANSPOSE, Nodes, find_causes, find_module, is_concatenation
from etprof.core.categories import DATA_MOVEMENT, ELEMENTWISE
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.operators import DELEGATED, OperatorId, group_by_call
from etprof.core.report import CancellingPair, LayoutChange
from etprof.core.rows import OperatorRow
from etprof.core.trace import EventKind, Trace
from etprof.core.units import NS_PER_MS, NS_PER_US

CHURN = frozenset({"transpose", "copy", "reshape", "pad", "quantise or convert", "slice", "concat", "repeat"})
# A graph of version 1 does not tell the inputs of portable operators; these read as many bytes as they write.
AS_MUCH_IN_AS_OUT = frozenset({"transpose", "copy", "reshape", "slice", "concat"})
# XNNPACK records whole microseconds: a rate from a shorter time would be noise.
_SHORTEST_RATED_MS = NS_PER_US / NS_PER_MS


def list_layout_changes(
    operators: Sequence[OperatorRow], nodes: Nodes, graph: ModelGraph | None
) -> tuple[LayoutChange, ...]:
    """Operators that only move data, the longest first. `nodes` are those of the graph, as far as they are known."""
    causes = dict(find_causes(operators, nodes, graph))
    changes = [
        _build_change(row, nodes.get(row.identity), causes.get(row.identity, ""), graph)
        for row in operators
        if row.category == DATA_MOVEMENT and row.subcategory in CHURN
    ]
    return tuple(sorted(changes, key=lambda change: -change.mean_ms))


def find_cancelling(
    operators: Sequence[OperatorRow], nodes: Nodes, graph: ModelGraph | None, trace: Trace
) -> tuple[CancellingPair, ...]:
    """Transposes that undo one another, by the time that would be saved. Only what the graph gives evidence for."""
    return pair_transposes(operators, nodes, graph, list_between_calls(trace))


def pair_transposes(
    operators: Sequence[OperatorRow],
    nodes: Nodes,
    graph: ModelGraph | None,
    portable: Mapping[int, tuple[str, ...]],
) -> tuple[CancellingPair, ...]:
    """The same; `portable` has the operators that run after each delegate call, empty without a trace."""
    if graph is None or not nodes:
        return ()
    changes = {change.identity: change for change in list_layout_changes(operators, nodes, graph)}
    groups = {key: rows for key, rows in group_by_call(operators).items() if key[:2] == (0, DELEGATED)}
    pairs: list[CancellingPair] = []
    for (_, _, call), rows in groups.items():
        partition = graph.partitions[call] if call < len(graph.partitions) else ()
        pairs += _find_inner_pairs(rows, changes, nodes, partition)
        following = groups.get((0, DELEGATED, call + 1))
        if following:
            pairs += _find_boundary_pairs(rows[-1], following[0], changes, nodes, portable.get(call, ()))
    return tuple(sorted(pairs, key=lambda pair: -pair.saves_ms))


def list_between_calls(trace: Trace) -> dict[int, tuple[str, ...]]:
    """The portable operators that run between a delegate call and the next, in the first inference."""
    between: dict[int, tuple[str, ...]] = {}
    call = -1
    for row in np.flatnonzero(trace.run == 0).tolist():
        if trace.kind[row] == EventKind.DELEGATE_CALL:
            call = int(trace.delegate_call[row])
        elif trace.kind[row] == EventKind.PORTABLE_OPERATOR:
            between[call] = (*between.get(call, ()), trace.names[trace.name[row]])
    return between


def _build_change(row: OperatorRow, node: GraphNode | None, cause: str, graph: ModelGraph | None) -> LayoutChange:
    moved = _count_bytes(node, row.subcategory) if node else None
    is_rated = moved is not None and row.mean_ms >= _SHORTEST_RATED_MS
    return LayoutChange(
        identity=row.identity,
        name=row.name,
        kind=row.subcategory,
        mean_ms=row.mean_ms,
        share=row.share,
        bytes_moved=moved,
        gb_per_s=moved / row.mean_ms / NS_PER_MS if moved is not None and is_rated else None,
        shape=_describe_shape(node) if node else "",
        module_path=find_module(node, _partition_of(row, graph)) if node else row.module_path,
        cause=cause,
    )


def _describe_shape(node: GraphNode) -> str:
    """Every operand of a concatenation; of other nodes the first input is what is moved."""
    given = [str(list(tensor.shape)) for tensor in node.inputs if not tensor.constant]
    moved = " + ".join(given if is_concatenation(node) else given[:1])
    return " -> ".join(filter(None, (moved, *(str(list(tensor.shape)) for tensor in node.outputs[:1]))))


def _partition_of(row: OperatorRow, graph: ModelGraph | None) -> Sequence[GraphNode]:
    return graph.partitions[row.identity.call] if graph and row.delegated else ()


def _count_bytes(node: GraphNode, subcategory: str) -> int | None:
    """What is read (never more than the output needs) and what is written; None where that is not known."""
    sources = [tensor for tensor in node.inputs if not tensor.constant]
    if not sources and subcategory in AS_MUCH_IN_AS_OUT:
        sources = list(node.outputs)
    sizes = [tensor.bits for tensor in (*sources, *node.outputs)]
    if not sources or not node.outputs or None in sizes:
        return None
    read, written = (sum(tensor.bits or 0 for tensor in tensors) for tensors in (sources, node.outputs))
    held, needed = (sum(tensor.elements for tensor in tensors) for tensors in (sources, node.outputs))
    return round((read * min(1.0, needed / held if held else 0.0) + written) / 8)


def _find_inner_pairs(
    rows: Sequence[OperatorRow],
    changes: Mapping[OperatorId, LayoutChange],
    nodes: Nodes,
    partition: Sequence[GraphNode],
) -> Iterator[CancellingPair]:
    """A transpose, elementwise operators or nothing, and the next transpose, which undoes the first."""
    opened: int | None = None
    for at, row in enumerate(rows):
        if row.subcategory != TRANSPOSE:
            if row.category != ELEMENTWISE:
                opened = None
            continue
        if opened is not None:
            first, second = rows[opened].identity, row.identity
            evidence = _find_evidence(nodes.get(first), nodes.get(second), partition)
            if evidence:
                between = tuple(other.name for other in rows[opened + 1 : at])
                kind = "around elementwise operators" if between else "back to back"
                yield _build_pair(changes[first], changes[second], between, kind, evidence)
                opened = None
                continue
        opened = at


def _find_boundary_pairs(
    last: OperatorRow,
    first: OperatorRow,
    changes: Mapping[OperatorId, LayoutChange],
    nodes: Nodes,
    portable: tuple[str, ...],
) -> Iterator[CancellingPair]:
    """The last operator of one delegate call and the first of the next: the layout changes only to change back."""
    if last.subcategory == TRANSPOSE and first.subcategory == TRANSPOSE:
        evidence = _compare_shapes(nodes.get(last.identity), nodes.get(first.identity))
        if evidence:
            call = last.identity.call
            kind = f"boundary between delegate calls {call} and {call + 1}"
            yield _build_pair(changes[last.identity], changes[first.identity], portable, kind, evidence)


def _build_pair(
    first: LayoutChange, second: LayoutChange, between: tuple[str, ...], kind: str, evidence: str
) -> CancellingPair:
    return CancellingPair(first, second, between, kind, evidence, saves_ms=first.mean_ms + second.mean_ms)


def _find_evidence(first: GraphNode | None, second: GraphNode | None, partition: Sequence[GraphNode]) -> str:
    """What shows that the second transpose undoes the first; empty if nothing does."""
    by_shape = _compare_shapes(first, second)
    if not by_shape or first is None or second is None:
        return ""
    reached = {tensor.id for tensor in first.outputs} - {None}
    if not reached or second.inputs[0].id is None:
        return by_shape
    for node in partition[first.index + 1 : second.index]:
        if reached & {tensor.id for tensor in node.inputs}:
            reached |= {tensor.id for tensor in node.outputs}
    return "data flow" if second.inputs[0].id in reached else ""


def _compare_shapes(first: GraphNode | None, second: GraphNode | None) -> str:
    if first is None or second is None:
        return ""
    ends = [(node.inputs[0].shape, node.outputs[0].shape) for node in (first, second) if node.inputs and node.outputs]
    if len(ends) < 2 or ends[0] != ends[1][::-1]:
        return ""
    if first.perm and second.perm:
        restored = tuple(first.perm[axis] for axis in second.perm)
        return "permutations" if restored == tuple(range(len(restored))) else ""
    return "shapes" if ends[0][0] != ends[0][1] else ""
