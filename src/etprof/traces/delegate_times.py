"""Settles which events of a delegate own their time, by the times alone and whatever the delegate is.

An event owns its time if it lies inside its call, encloses no other event and overlaps none. What lies outside of its
call was recorded on another clock. Inferences of one kind are judged together, by the median of each event's times.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.core.trace import EventKind

# Delegates round the time of an operator, as a rule to microseconds.
_ROUNDING_NS = 1_000

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Events:
    """The columns that decide; `kind` is changed in place. They are those of a trace, which names them."""

    kind: NDArray[np.int8]
    run: NDArray[np.int32]
    delegate_call: NDArray[np.int32]
    position: NDArray[np.int32]
    signature: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]


@dataclass(frozen=True)
class _Group:
    """A delegate call in all inferences of one kind: a row for each, a column for each event in recorded order.

    `room_ns` is the time that there is for the events in all inferences together.
    """

    rows: Rows
    container: Rows
    room_ns: int


def settle_times(events: Events) -> None:
    """Gives events that own no time a kind that says why."""
    if not _is_plain(events):
        for group in _list_groups(events):
            _settle_group(events, group)


def _is_plain(events: Events) -> bool:
    """Whether all operators follow one another inside their calls, as XNNPACK's do: one look at each column tells."""
    is_operator = events.kind == EventKind.DELEGATED_OPERATOR
    belongs = is_operator & (events.delegate_call >= 0)
    if np.count_nonzero(belongs) != np.count_nonzero(is_operator & (events.run >= 0)):
        return False
    if np.any(belongs[1:] & belongs[:-1] & (np.diff(events.start_ns) < events.duration_ns[:-1])):
        return False
    calls = np.flatnonzero((events.kind == EventKind.DELEGATE_CALL) & (events.run >= 0))
    calls = calls[(calls > 0) & belongs[calls - 1]]
    last = calls - 1
    count = events.position[last] + 1
    first = calls - count
    # Where another event stands between them, these are fewer than all operators.
    if count.sum() != np.count_nonzero(belongs) or np.any(first < 0) or np.any(events.position[first]):
        return False
    end = events.start_ns[last] + events.duration_ns[last]
    call_end = events.start_ns[calls] + events.duration_ns[calls]
    slack = _ROUNDING_NS * count
    return bool(np.all(events.start_ns[first] >= events.start_ns[calls]) and np.all(end <= call_end + slack))


def _list_groups(events: Events) -> Iterator[_Group]:
    """The delegate calls of each kind of inference, and the operators that are in none."""
    rows = np.flatnonzero(events.run >= 0)
    signature = events.signature[events.run[rows]]
    order = np.argsort(signature, kind="stable")
    bounds = np.searchsorted(signature[order], np.arange(len(np.unique(signature)) + 1))
    runs = np.bincount(events.signature)
    for number, count in enumerate(runs.tolist()):
        table = rows[order[bounds[number] : bounds[number + 1]]].reshape(count, -1)
        yield from _list_calls(events, table)


def _list_calls(events: Events, table: Rows) -> Iterator[_Group]:
    kind, call = events.kind[table[0]], events.delegate_call[table[0]]
    is_event = kind == EventKind.DELEGATED_OPERATOR
    for column in np.flatnonzero(kind == EventKind.DELEGATE_CALL).tolist():
        own = is_event & (call == call[column])
        if own.any():
            container = table[:, column]
            yield _Group(table[:, own], container, int(events.duration_ns[container].sum()))
    stray = is_event & (call < 0)
    if stray.any():
        execute = table[:, kind == EventKind.EXECUTE][:, 0]
        taken = table[:, (kind == EventKind.DELEGATE_CALL) | (kind == EventKind.PORTABLE_OPERATOR)]
        room_ns = int(events.duration_ns[execute].sum()) - int(events.duration_ns[taken].sum())
        yield _Group(table[:, stray], execute, room_ns)


def _settle_group(events: Events, group: _Group) -> None:
    begin = events.start_ns[group.rows] - events.start_ns[group.container][:, None]
    end = begin + events.duration_ns[group.rows]
    first, last = np.median(begin, axis=0), np.median(end, axis=0)
    whole = float(np.median(events.duration_ns[group.container]))
    slack = _ROUNDING_NS * len(first)
    fits = (first >= -slack) & (last <= whole + slack)
    fits &= ~_in_sequence_with(~fits, first, last, whole)
    inside = np.flatnonzero(fits)
    encloses = _encloses(first[inside], last[inside])
    leaves = inside[~encloses]
    taken_ns = int(events.duration_ns[group.rows[:, leaves]].sum())
    is_too_much = taken_ns > group.room_ns + slack * len(group.rows)
    events.kind[group.rows[:, ~fits]] = EventKind.UNTIMED_OPERATOR
    events.kind[group.rows[:, inside[encloses]]] = EventKind.DELEGATE_STAGE
    if is_too_much or _overlap(first[leaves], last[leaves]) > slack:
        events.kind[group.rows[:, leaves]] = EventKind.OVERLAPPING_OPERATOR


def _in_sequence_with(odd: Flags, first: NDArray[np.float64], last: NDArray[np.float64], whole: float) -> Flags:
    """Events that were recorded one after the other with an odd one: they are on the same clock."""
    gap = first[1:] - last[:-1]
    number = np.concatenate([[0], np.cumsum((gap < 0) | (gap > whole))])
    found: Flags = np.isin(number, number[odd])
    return found


def _encloses(first: NDArray[np.float64], last: NDArray[np.float64]) -> Flags:
    """Whether another event lies inside each. Of two with the same times the one that was recorded later does."""
    found = np.zeros(len(first), np.bool_)
    # An event of no length takes nothing from another; it may stand on the border between two.
    lasting = np.flatnonzero(last > first)
    order = lasting[np.lexsort((-lasting, -last[lasting], first[lasting]))]
    ends = last[order]
    earliest_later_end = np.minimum.accumulate(ends[::-1])[::-1]
    found[order[:-1]] = earliest_later_end[1:] <= ends[:-1]
    return found


def _overlap(first: NDArray[np.float64], last: NDArray[np.float64]) -> float:
    """How much time of these events is shared with others of them."""
    order = np.argsort(first, kind="stable")
    begin, reached = first[order], np.maximum.accumulate(last[order])
    shared = np.minimum(reached[:-1], last[order][1:]) - begin[1:]
    return float(np.maximum(shared, 0.0).sum())
