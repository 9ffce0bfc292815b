"""Finds the graph node behind each operator of a trace, by order and kind, and maps only what can be no other.

XNNPACK records no reference to the graph. It does run the nodes it was given in their order, and each node kind gives
events of known names. All ways to lay a partition's nodes over the events of its delegate call are considered; an
event is mapped when every one of them agrees on its node. Where no way exists, nothing of that call is mapped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.graph.event_patterns import (
    UNNAMED_CALL,
    find_alternatives,
    find_portable_alternatives,
    plain_event,
)
from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph
from etprof.core.operators import DELEGATED, PORTABLE, OperatorId, OperatorSamples

Reach = NDArray[np.bool_]
# What the runtime records where it calls views of tensors, up to four in a row: like operators, but no graph has them.
_VIEWS = tuple((UNNAMED_CALL,) * count for count in range(5))


@dataclass(frozen=True)
class Alignment:
    """One delegate call (or the portable operators, call -1): each event's node, None where it is open.

    `kind` numbers the kinds of inferences where there are several.
    """

    call: int
    kind: int | None
    identities: tuple[OperatorId, ...]
    names: tuple[str, ...]
    nodes: tuple[GraphNode | None, ...]

    @property
    def where(self) -> str:
        place = f"delegate call {self.call}" if self.call >= 0 else "the portable operators"
        return place if self.kind is None else f"{place} of inferences of kind {self.kind}"

    @property
    def mapped(self) -> int:
        return sum(node is not None for node in self.nodes)

    @property
    def confidence(self) -> str:
        """`exact`: one way only; `partial`: the events that are open stay unmapped; `none`: the graph does not fit."""
        if self.mapped == len(self.nodes):
            return "exact"
        return "partial" if self.mapped else "none"


def align_operators(tables: Sequence[OperatorSamples], graph: ModelGraph) -> tuple[Alignment, ...]:
    """The alignment of each delegate call, then that of the portable operators; of every kind of inference."""
    alignments = []
    for number, table in enumerate(tables):
        kind = number if len(tables) > 1 else None
        groups: dict[tuple[str, int], list[int]] = {}
        for at, identity in enumerate(table.identities):
            groups.setdefault((identity.group, identity.call), []).append(at)
        for call in range(table.calls):
            # A graph with another number of partitions is not the graph of this trace.
            nodes = graph.partitions[call] if table.calls == len(graph.partitions) else ()
            events = groups.get((DELEGATED, call), [])
            alignments.append(Alignment(call, kind, *_lay_over(table, events, nodes, find_alternatives(nodes))))
        portable = _add_views(graph.undelegated)
        alternatives = [find_portable_alternatives(node) if node else _VIEWS for node in portable]
        events = groups.get((PORTABLE, 0), [])
        alignments.append(Alignment(-1, kind, *_lay_over(table, events, portable, alternatives)))
    return tuple(alignment for alignment in alignments if alignment.nodes)


def _add_views(nodes: Sequence[GraphNode]) -> list[GraphNode | None]:
    """The nodes, and a None wherever views may have been called; without nodes nothing is known of the events."""
    return [each for node in nodes for each in (None, node)] + [None] if nodes else []


def _lay_over(
    table: OperatorSamples,
    events: Sequence[int],
    nodes: Sequence[GraphNode | None],
    alternatives: Sequence[Sequence[Sequence[str]]],
) -> tuple[tuple[OperatorId, ...], tuple[str, ...], tuple[GraphNode | None, ...]]:
    """The identities, the names and the nodes of these events."""
    names = tuple(table.names[at] for at in events)
    found = align([plain_event(name) for name in names], alternatives)
    return tuple(table.identities[at] for at in events), names, tuple(_choose(nodes, some) for some in found)


def _choose(nodes: Sequence[GraphNode | None], candidates: set[int]) -> GraphNode | None:
    """The node that an event comes from; of several nodes of one and the same edge operator, the first."""
    found = [nodes[i] for i in sorted(candidates)]
    if len(found) > 1:
        handles = {node.debug_handle if node else None for node in found}
        if len(handles) > 1 or handles & {None, NO_HANDLE}:
            return None
    return found[0] if found else None


def align(events: Sequence[str], alternatives: Sequence[Sequence[Sequence[str]]]) -> tuple[set[int], ...]:
    """For each event the nodes it belongs to in any complete alignment.

    `alternatives` holds, for each node, the sequences of events it may leave, an empty one if it may leave none.
    """
    forward = _reach(events, alternatives)
    backward = _reach(events[::-1], [[option[::-1] for option in options] for options in alternatives[::-1]])
    backward = backward[::-1, ::-1]
    found: tuple[set[int], ...] = tuple(set() for _ in events)
    for node, (options, (here, after)) in enumerate(
        zip(alternatives, zip(forward[:-1], backward[1:], strict=True), strict=True)
    ):
        for at in np.flatnonzero(here).tolist():
            for option in options:
                end = at + len(option)
                if end <= len(events) and after[end] and list(events[at:end]) == list(option):
                    for event in range(at, end):
                        found[event].add(node)
    return found


def _reach(events: Sequence[str], alternatives: Sequence[Sequence[Sequence[str]]]) -> Reach:
    """reach[i, j]: the first i nodes can account for the first j events."""
    reach = np.zeros((len(alternatives) + 1, len(events) + 1), np.bool_)
    reach[0, 0] = True
    for (here, after), options in zip(pairwise(reach), alternatives, strict=True):
        for at in np.flatnonzero(here).tolist():
            for option in options:
                if list(events[at : at + len(option)]) == list(option):
                    after[at + len(option)] = True
    return reach


def list_mapped(alignments: Sequence[Alignment]) -> dict[OperatorId, GraphNode]:
    """The node of every operator that has a certain one."""
    return {
        identity: node
        for alignment in alignments
        for identity, node in zip(alignment.identities, alignment.nodes, strict=True)
        if node is not None
    }
