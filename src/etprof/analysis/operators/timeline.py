"""Lays inferences out on a time line: slices that nest, operators inside the delegate call that ran them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from etprof.core.categories import RULES, Rule, categorize
from etprof.core.inferences import number_runs
from etprof.core.plan import Variant
from etprof.core.report import Slice, Track
from etprof.core.trace import EventKind, Trace

# A viewer is for looking at some inferences; all of them may be millions of slices.
_RECORDED_SLICES = 5_000
# Plain numbers: looking an enumeration's member up, for every row, costs more than all the rest.
_EXECUTE, _DELEGATE_CALL, _DELEGATED, _STAGE, _OVERLAPPING, _UNTIMED = map(
    int,
    (
        EventKind.EXECUTE,
        EventKind.DELEGATE_CALL,
        EventKind.DELEGATED_OPERATOR,
        EventKind.DELEGATE_STAGE,
        EventKind.OVERLAPPING_OPERATOR,
        EventKind.UNTIMED_OPERATOR,
    ),
)
_CONTAINERS = (_DELEGATE_CALL, int(EventKind.OPERATOR_CALL))
_OPERATORS = (_DELEGATED, int(EventKind.PORTABLE_OPERATOR), _OVERLAPPING)


@dataclass
class _Node:
    """An event and what happened inside it."""

    slice: Slice
    kind: int
    call: int
    children: list["_Node"] = field(default_factory=list)

    @property
    def end_ns(self) -> int:
        return self.slice.start_ns + self.slice.duration_ns


@dataclass(frozen=True)
class _Inference:
    """The events of one inference in recorded order, or of several as their mean; times from its own start.

    `kind` numbers the kinds of inferences where there are several.
    """

    trace: Trace
    kind: int | None
    rows: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]


def build_tracks(variant: Variant, traces: Sequence[Trace], rules: Sequence[Rule] = RULES) -> tuple[Track, ...]:
    """The mean inference of each signature, then inferences as they were recorded in the first trace."""
    names = {name for trace in traces for name in trace.names}
    categories = {name: categorize(name, rules).name for name in names}
    kinds = number_runs(traces)
    means = _mean_inferences(traces, kinds)
    tracks = []
    for number, (inference, count) in enumerate(means):
        several = f", signature {number + 1} of {len(means)}" if len(means) > 1 else ""
        name = f"mean of {count} traced inference{'s' if count != 1 else ''}{several}"
        tracks.append(Track(variant, name, count, tuple(_lay_out(inference, 0, categories))))
    recorded = _recorded_tracks(variant, traces[0], kinds[0], categories) if traces else ()
    return (*tracks, *recorded)


def _mean_inferences(
    traces: Sequence[Trace], kinds: Sequence[Mapping[int, int | None]]
) -> list[tuple[_Inference, int]]:
    found: dict[tuple[object, ...], list[tuple[_Inference, int]]] = {}
    for trace, kind_of_run in zip(traces, kinds, strict=True):
        steady = trace.is_steady
        for signature in range(trace.signature_count):
            runs = steady & (trace.signature == signature)
            count = int(runs.sum())
            if count:
                rows = np.flatnonzero(trace.rows_of(runs))
                summed = _sum_inferences(trace, rows, count, kind_of_run.get(int(np.argmax(runs))))
                found.setdefault(_key(summed), []).append((summed, count))
    return [_mean(parts) for parts in found.values()]


def _sum_inferences(trace: Trace, rows: NDArray[np.int64], count: int, kind: int | None) -> _Inference:
    table = rows.reshape(count, -1)
    execute = int(np.flatnonzero(trace.kind[table[0]] == EventKind.EXECUTE)[0])
    start = trace.start_ns[table] - trace.start_ns[table[:, execute]][:, None]
    return _Inference(trace, kind, table[0], start.sum(axis=0), trace.duration_ns[table].sum(axis=0))


def _key(inference: _Inference) -> tuple[object, ...]:
    trace, rows = inference.trace, inference.rows
    places = (trace.kind[rows].tobytes(), trace.delegate_call[rows].tobytes(), trace.position[rows].tobytes())
    return (*(trace.names[n] for n in trace.name[rows]), *places)


def _mean(parts: Sequence[tuple[_Inference, int]]) -> tuple[_Inference, int]:
    count = sum(number for _, number in parts)
    start = np.sum([part.start_ns for part, _ in parts], axis=0)
    duration = np.sum([part.duration_ns for part, _ in parts], axis=0)
    first = parts[0][0]
    rounded = (np.round(total / count).astype(np.int64) for total in (start, duration))
    return _Inference(first.trace, first.kind, first.rows, *rounded), count


def _recorded_tracks(
    variant: Variant, trace: Trace, kind_of_run: Mapping[int, int | None], categories: Mapping[str, str]
) -> Iterator[Track]:
    """Operators that ran beside others come first, on tracks of their own; then all that nests."""
    runs = np.flatnonzero(trace.is_steady)
    if not len(runs):
        return
    per_run = int(np.count_nonzero(trace.run >= 0)) // trace.run_count
    shown = runs[: max(1, _RECORDED_SLICES // max(per_run, 1))]
    slices: list[Slice] = []
    beside: list[Slice] = []
    begin = None
    for run in shown.tolist():
        rows = np.flatnonzero(trace.run == run)
        execute = rows[trace.kind[rows] == EventKind.EXECUTE][0]
        origin = int(trace.start_ns[execute])
        begin = origin if begin is None else begin
        at = max(origin - begin, max((s.start_ns + s.duration_ns for s in slices if s.depth == 0), default=0))
        start_ns, duration_ns = trace.start_ns[rows] - origin, trace.duration_ns[rows]
        inference = _Inference(trace, kind_of_run.get(run), rows, start_ns, duration_ns)
        slices += _lay_out(inference, at, categories)
        own = (node.slice for node in _nodes(inference, categories) if node.kind == _OVERLAPPING)
        beside += (replace(piece, start_ns=at + max(piece.start_ns, 0)) for piece in own)
    for number, lane in enumerate(_split_lanes(beside), start=1):
        yield Track(variant, f"operators that ran beside others, {number}", 1, tuple(lane))
    yield Track(variant, f"{len(shown)} of {len(runs)} inferences as recorded in the first block", 1, tuple(slices))


def _split_lanes(slices: Sequence[Slice]) -> list[list[Slice]]:
    """As few groups as possible of slices that do not overlap."""
    lanes: list[list[Slice]] = []
    for piece in sorted(slices, key=lambda piece: piece.start_ns):
        free = (lane for lane in lanes if lane[-1].start_ns + lane[-1].duration_ns <= piece.start_ns)
        lane = next(free, None)
        if lane is None:
            lanes.append([piece])
        else:
            lane.append(piece)
    return lanes


def _lay_out(inference: _Inference, at_ns: int, categories: Mapping[str, str]) -> list[Slice]:
    """The slices of one inference from `at_ns` on, each after its neighbour and inside its parent."""
    root, *rest = _build_tree(inference, categories)
    root.children = rest
    slices: list[Slice] = []
    _place(root, at_ns, 0, slices)
    return slices


def _place(node: _Node, at_ns: int, depth: int, into: list[Slice]) -> int:
    """Adds a node and what is in it; returns where it ends.

    Operator times are whole microseconds, so that the operators of a call may add up to a little more than the call:
    then the call is drawn longer, because an operator's own time must stay what it is.
    """
    own = len(into)
    into.append(node.slice)
    end = at_ns
    for child in sorted(node.children, key=lambda n: n.slice.start_ns):
        wanted = at_ns + child.slice.start_ns - node.slice.start_ns
        end = _place(child, max(end, wanted), depth + 1, into)
    duration = max(node.slice.duration_ns, end - at_ns)
    into[own] = replace(node.slice, start_ns=at_ns, duration_ns=duration, depth=depth)
    return at_ns + duration


def _build_tree(inference: _Inference, categories: Mapping[str, str]) -> list[_Node]:
    """Method::execute first, then what is directly in it. An event is recorded when it ends, so contents come first."""
    top: list[_Node] = []
    pending: list[_Node] = []
    for node in _nodes(inference, categories):
        if node.kind in (_OVERLAPPING, _UNTIMED):
            continue
        if node.kind in _CONTAINERS:
            node.children = _nest([child for child in pending if _is_inside(child, node)])
            top += [child for child in pending if not _is_inside(child, node)]
            pending = []
            top.append(node)
        elif node.kind == _EXECUTE:
            return [node, *top, *pending]
        else:
            pending.append(node)
    raise AssertionError("every inference of a trace ends with its Method::execute")


def _nest(nodes: list[_Node]) -> list[_Node]:
    """What lies inside a stage of a delegate becomes a part of it."""
    if all(node.kind != _STAGE for node in nodes):
        return nodes
    top: list[_Node] = []
    stages: list[_Node] = []
    for node in sorted(nodes, key=lambda n: (n.slice.start_ns, -n.slice.duration_ns, n.kind != _STAGE)):
        while stages and node.end_ns > stages[-1].end_ns:
            stages.pop()
        (stages[-1].children if stages else top).append(node)
        if node.kind == _STAGE:
            stages.append(node)
    return top


def _is_inside(child: _Node, container: _Node) -> bool:
    if child.kind in (_DELEGATED, _STAGE):
        return container.kind == _DELEGATE_CALL and child.call == container.call
    return child.slice.start_ns >= container.slice.start_ns


def _nodes(inference: _Inference, categories: Mapping[str, str]) -> Iterator[_Node]:
    trace, rows = inference.trace, inference.rows
    columns = (rows, trace.kind[rows], trace.name[rows], trace.delegate_call[rows])
    times = (inference.start_ns, inference.duration_ns)
    for row, kind, number, call, start, duration in zip(*(c.tolist() for c in (*columns, *times)), strict=True):
        is_operator = kind in _OPERATORS
        piece = Slice(
            name=trace.names[number],
            category=categories[trace.names[number]] if is_operator else "",
            identity=trace.identity(row, inference.kind) if is_operator else "",
            depth=0,
            start_ns=start,
            duration_ns=duration,
        )
        yield _Node(piece, kind, call)
