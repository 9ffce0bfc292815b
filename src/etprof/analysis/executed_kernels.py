"""Which family of kernels each node of a graph executed, as far as samples tell."""

from collections.abc import Mapping
from dataclasses import dataclass

from etprof.analysis.graph.event_patterns import EVENTS, plain_event
from etprof.analysis.kernels.families import find_family, list_functions
from etprof.core.graph import GraphNode
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.operators import DELEGATED, OperatorId


@dataclass(frozen=True)
class ExecutedNode:
    """`partition` is None for an operator outside of the delegate; `family` is None where samples do not decide."""

    partition: int | None
    node: GraphNode
    identity: OperatorId
    family: str | None
    functions: tuple[str, ...]


def list_executed(evidence: KernelEvidence, nodes: Mapping[OperatorId, GraphNode]) -> tuple[ExecutedNode, ...]:
    """The nodes whose operator is known, in the order of execution; packing or clamping for one is not its work."""
    found = []
    for row in evidence.operators:
        node = nodes.get(row.identity)
        if node is None or (node.type in EVENTS and plain_event(row.name) not in EVENTS[node.type]):
            continue
        family = find_family(row.kernels)
        partition = row.identity.call if row.identity.group == DELEGATED else None
        found.append(ExecutedNode(partition, node, row.identity, family, list_functions(row.kernels, family)))
    return tuple(found)
