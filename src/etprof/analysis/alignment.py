"""Finds the graph node behind each operator of a trace, by order and kind, and maps only what can be no other.

XNNPACK records no reference to the graph. It does run the nodes it was given in their order, and each node kind gives
events of known names. All ways to lay a partition's nodes over the events of its delegate call are considered; an
event is mapped when every one of them agrees on its node. Where no way exists, nothing of that call is mapped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.event_patterns import find_alternatives, find_portable_alternatives, plain_event
from etprof.analysis.model_graph import NO_HANDLE, GraphNode, ModelGraph
from etprof.core.trace import EventKind, Trace

Reach = NDArray[np.bool_]


@dataclass(frozen=True)
class Alignment:
    """One delegate call (or the portable operators, call -1): each event's node, None where it is open."""

    call: int
    identities: tuple[str, ...]
    names: tuple[str, ...]
    nodes: tuple[GraphNode | None, ...]

    @property
    def mapped(self) -> int:
        return sum(node is not None for node in self.nodes)

    @property
    def confidence(self) -> str:
        """`exact`: one way only; `partial`: the events that are open stay unmapped; `none`: the graph does not fit."""
        if self.mapped == len(self.nodes):
            return "exact"
        return "partial" if self.mapped else "none"


def align_trace(trace: Trace, graph: ModelGraph) -> tuple[Alignment, ...]:
    """The alignment of each delegate call of the first inference, then that of its portable operators."""
    in_first = trace.run == 0
    is_delegated = in_first & (trace.kind == EventKind.DELEGATED_OPERATOR)
    calls = int(trace.delegate_call[in_first].max(initial=-1)) + 1
    alignments = []
    for call in range(calls):
        rows = np.flatnonzero(is_delegated & (trace.delegate_call == call)).tolist()
        # A graph with another number of partitions is not the graph of this trace.
        nodes = graph.partitions[call] if calls == len(graph.partitions) else ()
        alignments.append(_build_alignment(trace, call, rows, nodes, find_alternatives(nodes)))
    rows = np.flatnonzero(in_first & (trace.kind == EventKind.PORTABLE_OPERATOR)).tolist()
    alternatives = [find_portable_alternatives(node) for node in graph.undelegated]
    alignments.append(_build_alignment(trace, -1, rows, graph.undelegated, alternatives))
    return tuple(alignment for alignment in alignments if alignment.nodes)


def _build_alignment(
    trace: Trace,
    call: int,
    rows: Sequence[int],
    nodes: Sequence[GraphNode],
    alternatives: Sequence[Sequence[Sequence[str]]],
) -> Alignment:
    names = tuple(trace.names[trace.name[row]] for row in rows)
    found = align([plain_event(name) for name in names], alternatives)
    return Alignment(
        call=call,
        identities=tuple(trace.identity(row) for row in rows),
        names=names,
        nodes=tuple(_choose(nodes, candidates) for candidates in found),
    )


def _choose(nodes: Sequence[GraphNode], candidates: set[int]) -> GraphNode | None:
    """The node that an event comes from; of several nodes of one and the same edge operator, the first."""
    if len(candidates) > 1:
        handles = {nodes[i].debug_handle for i in candidates}
        if len(handles) > 1 or handles & {None, NO_HANDLE}:
            return None
    return nodes[min(candidates)] if candidates else None


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


def iter_mapped(alignments: Sequence[Alignment]) -> Iterator[tuple[str, GraphNode]]:
    """Identity and node of every mapped operator."""
    for alignment in alignments:
        for identity, node in zip(alignment.identities, alignment.nodes, strict=True):
            if node is not None:
                yield identity, node
