"""The nodes of a model's graph for a viewer: each has an id that operators can be found by, and what it reads from."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.graph_view import ViewNode
from etprof.core.operators import DELEGATED, PORTABLE, OperatorId

# The attribute that names the module a node comes from.
_MODULE = "module"


@dataclass(frozen=True)
class Located:
    """The operators of one kind of inference in order of execution: their names, and the nodes that they lie on."""

    names: Mapping[OperatorId, str]
    ids: Mapping[OperatorId, str]


def locate_operators(names: Mapping[OperatorId, str], nodes: Mapping[OperatorId, GraphNode]) -> Located:
    """An operator without a certain node is a node of its own."""
    return Located(names, {identity: _find_id(identity, name, nodes) for identity, name in names.items()})


def _find_id(identity: OperatorId, name: str, nodes: Mapping[OperatorId, GraphNode]) -> str:
    node = nodes.get(identity)
    if node is not None and identity.group == DELEGATED:
        return _delegated_id(identity.call, node)
    if node is not None and identity.group == PORTABLE:
        return _portable_id(node)
    # With its name: another variant may have another operator in the same place.
    return f"{identity} {name}"


def _delegated_id(call: int, node: GraphNode) -> str:
    return f"call{call}.node{node.index}"


def _portable_id(node: GraphNode) -> str:
    return f"operator{node.index}"


def build_view_nodes(graph: ModelGraph | None, variants: Sequence[Located]) -> tuple[ViewNode, ...]:
    """All nodes of the graph, and the operators of all variants that are not in it."""
    drafts: dict[str, ViewNode] = {}
    for call, partition in enumerate(graph.partitions if graph else ()):
        drafts |= {node.id: node for node in _adopt(list(_build_partition(call, partition)))}
    for node in graph.undelegated if graph else ():
        drafts[_portable_id(node)] = _describe(_portable_id(node), node, "")
    for located in variants:
        drafts |= {node.id: node for node in _build_unplaced(located) if node.id not in drafts}
    operators = _list_operators(variants)
    linked = _link(drafts, variants[0]) if variants else drafts
    return tuple(
        replace(node, attributes={**node.attributes, "operators": "; ".join(operators[node.id])})
        if node.id in operators
        else node
        for node in linked.values()
    )


def _build_partition(call: int, nodes: Sequence[GraphNode]) -> Iterator[ViewNode]:
    producers: dict[int, str] = {}
    for node in nodes:
        sources = [producers[tensor.id] for tensor in node.inputs if tensor.id is not None and tensor.id in producers]
        made = _describe(_delegated_id(call, node), node, _describe_call(call))
        yield replace(made, sources=tuple(dict.fromkeys(sources)))
        producers |= {tensor.id: made.id for tensor in node.outputs if tensor.id is not None}


def _adopt(nodes: Sequence[ViewNode]) -> Iterator[ViewNode]:
    """A node that the lowering inserted stands with the one that reads it, or else with the one it reads."""
    groups = {node.id: node.group for node in nodes if _MODULE in node.attributes}
    for node in reversed(nodes):
        for source in node.sources:
            groups.setdefault(source, groups.get(node.id, ""))
    for node in nodes:
        before = next((groups[source] for source in node.sources if groups.get(source)), "")
        groups[node.id] = groups.get(node.id) or before or node.group
        yield replace(node, group=groups[node.id])


def _describe(id: str, node: GraphNode, call: str) -> ViewNode:
    attributes = {
        "delegate call": call,
        _MODULE: node.module_path,
        "function": node.source,
        "exported nodes": ", ".join(node.edge_nodes),
    }
    known = {key: value for key, value in attributes.items() if value}
    return ViewNode(id, node.type, node.module_path or call, known, outputs=node.outputs)


def _describe_call(call: int) -> str:
    return f"delegate call {call}"


def _build_unplaced(located: Located) -> Iterator[ViewNode]:
    """One after the other in each call, as they ran."""
    before: dict[object, str] = {}
    for identity, id in located.ids.items():
        call = identity.of_call
        # A node of the graph may leave several operators, and be the one before.
        if id == f"{identity} {located.names[identity]}":
            group = _describe_call(identity.call) if identity.group == DELEGATED else ""
            sources = (before[call],) if identity.group == DELEGATED and call in before else ()
            yield ViewNode(id, located.names[identity], group, {"node": "not certain"}, sources)
        before[call] = id


def _list_operators(variants: Sequence[Located]) -> Mapping[str, Sequence[str]]:
    """What ran at each node, each operator once."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for located in variants:
        for identity, id in located.ids.items():
            found[id][f"{identity} {located.names[identity]}"] = None
    return {id: list(operators) for id, operators in found.items()}


def _link(drafts: Mapping[str, ViewNode], located: Located) -> dict[str, ViewNode]:
    """Joins delegate calls and portable operators in the order in which they ran: no graph file says more."""
    linked = dict(drafts)
    for (_, exits), (entries, _) in pairwise(_list_steps(drafts, located)):
        for id in entries:
            linked[id] = replace(linked[id], sources=(*linked[id].sources, *exits))
    return linked


def _list_steps(drafts: Mapping[str, ViewNode], located: Located) -> Iterator[tuple[list[str], list[str]]]:
    """For each delegate call and portable operator the nodes that begin and those that end it."""
    seen: set[str] = set()
    for _, some in groupby(located.ids.items(), key=lambda item: _step_of(item[0])):
        step = list(some)
        identity = step[0][0]
        ids = dict.fromkeys(id for _, id in step)
        if identity.group == DELEGATED:
            ids |= dict.fromkeys(id for id in drafts if id.startswith(f"call{identity.call}."))
        # What runs again in a loop was joined the first time.
        if seen.isdisjoint(ids):
            read = {source for id in ids for source in drafts[id].sources}
            yield [id for id in ids if ids.keys().isdisjoint(drafts[id].sources)], [id for id in ids if id not in read]
        seen |= ids.keys()


def _step_of(identity: OperatorId) -> object:
    return identity.of_call if identity.group == DELEGATED else identity
