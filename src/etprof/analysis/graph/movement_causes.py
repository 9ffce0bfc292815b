"""Where an operator that only moves data belongs in the model, and why it is there."""

from collections.abc import Iterator, Mapping, Sequence

from etprof.core.categories import DATA_MOVEMENT
from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph
from etprof.core.operators import DELEGATED, OperatorId, group_by_call
from etprof.core.rows import OperatorRow

Nodes = Mapping[OperatorId, GraphNode]

TRANSPOSE = "transpose"
_CONCATENATION = "XNNConcatenate"
_MODEL = "the model"


def find_causes(
    operators: Sequence[OperatorRow], nodes: Nodes, graph: ModelGraph | None
) -> Iterator[tuple[OperatorId, str]]:
    """Why data is moved: the model asks for it, a concatenation needs it, a delegate call's edge, or the lowering."""
    for (_, group, call), rows in group_by_call(operators).items():
        moves = [row.category == DATA_MOVEMENT for row in rows]
        first = moves.index(False) if False in moves else len(rows)
        last = len(rows) - 1 - moves[::-1].index(False) if False in moves else -1
        for at, row in enumerate(rows):
            node = nodes.get(row.identity)
            if not moves[at]:
                continue
            if node and is_concatenation(node):
                partition = graph.partitions[call] if graph and call < len(graph.partitions) else ()
                yield row.identity, _describe_concatenation(node, partition)
            elif node and (group != DELEGATED or node.debug_handle != NO_HANDLE):
                yield row.identity, _MODEL
            elif row.subcategory != TRANSPOSE or group != DELEGATED:
                continue
            elif at < first or at > last:
                yield row.identity, f"{'entry of' if at < first else 'exit from'} delegate call {call}"
            elif node:
                yield row.identity, "layout change inside the partition"


def find_module(node: GraphNode, partition: Sequence[GraphNode]) -> str:
    """The node's module, or else a neighbour's: the one that reads its output, or the one that made its input.

    What the lowering inserted has no module, nor has what the outermost forward computes.
    """
    if node.module_path:
        return node.module_path
    if after := _find_reader(node, partition):
        return f"before {after}"
    before = _find_makers(node, partition)
    return f"after {before[0]}" if before else ""


def is_concatenation(node: GraphNode) -> bool:
    return node.type.startswith(_CONCATENATION)


def _describe_concatenation(node: GraphNode, partition: Sequence[GraphNode]) -> str:
    axes = {
        axis
        for operand in node.inputs
        for made in node.outputs[:1]
        for axis, (own, whole) in enumerate(zip(operand.shape, made.shape, strict=False))
        if own != whole
    }
    along = f" along axis {axes.pop()}" if len(axes) == 1 else ""
    makers = dict.fromkeys(_find_makers(node, partition))
    of = f" ({', '.join(makers)})" if makers else ""
    return f"concatenation of {len(node.inputs)} operands{along}{of}: XNNPACK copies each into the output"


def _find_reader(node: GraphNode, partition: Sequence[GraphNode]) -> str:
    """The first module down the data flow, through nodes that have none."""
    made = {tensor.id for tensor in node.outputs} - {None}
    for other in partition[node.index + 1 :]:
        if made & {tensor.id for tensor in other.inputs}:
            if other.module_path:
                return other.module_path
            made |= {tensor.id for tensor in other.outputs} - {None}
    return ""


def _find_makers(node: GraphNode, partition: Sequence[GraphNode]) -> list[str]:
    """For each input the module that made it, through nodes that have none; those from outside are left out."""
    made_by = {tensor.id: other for other in partition[: node.index] for tensor in other.outputs}
    makers = []
    for tensor in node.inputs:
        maker = made_by.get(tensor.id) if tensor.id is not None else None
        while maker and not maker.module_path:
            given = next((each.id for each in maker.inputs if not each.constant), None)
            maker = made_by.get(given) if given is not None else None
        if maker:
            makers.append(maker.module_path)
    return makers
