"""What each recorded event is, and which inference and delegate call it belongs to, settled from columns alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from etdump_builder import Event
from etprof.core.trace import EventKind, Trace
from etprof.traces.event_kinds import EventColumns, TraceParts, build_trace

INFERENCE = (
    Event("Conv #1", 110, 150, 0, delegated=True),
    Event("Add #1", 150, 160, 0, delegated=True),
    Event("DELEGATE_CALL", 105, 170, 0),
    Event("native_call_mean.out", 180, 190, 1),
    Event("OPERATOR_CALL", 175, 195, 1),
    Event("Method::execute", 100, 210),
)


def build(*blocks: Sequence[Event]) -> Trace:
    """The trace of these blocks, without a file between."""
    events = [(number, event) for number, block in enumerate(blocks) for event in block]
    names = list(dict.fromkeys(event.name or "" for _, event in events))
    columns = EventColumns(
        name=np.array([names.index(event.name or "") for _, event in events], np.int32),
        block=np.array([number for number, _ in events], np.int32),
        instruction=np.array([event.instruction for _, event in events], np.int32),
        is_delegated=np.array([event.delegated for _, event in events], np.bool_),
        start_ns=np.array([event.start for _, event in events], np.int64),
        duration_ns=np.array([event.end - event.start for _, event in events], np.int64),
        filled=len(events),
    )
    block_names = tuple(f"block {i}" for i in range(len(blocks)))
    return build_trace(TraceParts(columns, tuple(names), block_names, ("of the file",)))


def kinds(trace: Trace) -> list[EventKind]:
    return [EventKind(kind) for kind in trace.kind.tolist()]


def test_names_and_delegates_say_what_an_event_is() -> None:
    trace = build(INFERENCE)
    assert kinds(trace) == [
        EventKind.DELEGATED_OPERATOR,
        EventKind.DELEGATED_OPERATOR,
        EventKind.DELEGATE_CALL,
        EventKind.PORTABLE_OPERATOR,
        EventKind.OPERATOR_CALL,
        EventKind.EXECUTE,
    ]
    assert trace.delegate_call.tolist() == [0, 0, 0, -1, -1, -1]
    assert trace.position.tolist() == [0, 1, -1, 0, -1, -1]
    assert trace.notes == ("of the file",)


def test_a_delegates_operator_may_be_called_like_a_container() -> None:
    trace = build([replace(INFERENCE[0], name="DELEGATE_CALL"), *INFERENCE[1:]])
    assert kinds(trace)[0] is EventKind.DELEGATED_OPERATOR


def test_an_unknown_event_is_setup_before_an_inference_and_other_inside() -> None:
    early, inside = Event("my timer", 50, 60), Event("my timer", 120, 130)
    trace = build([early, inside, *INFERENCE])
    assert kinds(trace)[:2] == [EventKind.SETUP, EventKind.OTHER]
    assert trace.run.tolist()[:2] == [-1, 0]


def test_calls_and_positions_start_over_in_every_inference() -> None:
    second_call = (Event("Conv #1", 200, 205, 2, delegated=True), Event("DELEGATE_CALL", 198, 207, 2))
    inference = (*INFERENCE[:-1], *second_call, INFERENCE[-1])
    trace = build(inference, inference)
    one = trace.delegate_call.tolist()[: len(inference)]
    assert one == [0, 0, 0, -1, -1, 1, 1, -1]
    assert trace.delegate_call.tolist() == one * 2
    assert trace.position.tolist()[: len(inference)] == trace.position.tolist()[len(inference) :]
    assert trace.run.tolist() == [0] * 8 + [1] * 8


def test_an_operator_belongs_to_the_call_of_its_own_instruction_only() -> None:
    trace = build([replace(INFERENCE[0], instruction=7), *INFERENCE[1:]])
    assert trace.delegate_call.tolist()[:2] == [-1, 0]
    assert trace.position.tolist()[:2] == [0, 0]
    assert "outside any DELEGATE_CALL" in trace.notes[1]


def test_what_a_cut_off_inference_left_belongs_to_none() -> None:
    trace = build(INFERENCE, INFERENCE[:3])
    assert trace.run.tolist() == [0] * 6 + [-1] * 3
    assert trace.run_count == 1


def test_signatures_are_numbered_as_they_appear() -> None:
    short = (INFERENCE[0], INFERENCE[2], INFERENCE[-1])
    trace = build(INFERENCE, short, INFERENCE, short, short)
    assert trace.signature.tolist() == [0, 1, 0, 1, 1]
    swapped = (INFERENCE[1], INFERENCE[0], *INFERENCE[2:])
    assert build(INFERENCE, swapped).signature.tolist() == [0, 1], "the order counts"


def test_a_call_around_nothing_is_the_operator_itself() -> None:
    trace = build([Event("OPERATOR_CALL", 101, 103, 9), *INFERENCE])
    assert kinds(trace)[0] is EventKind.PORTABLE_OPERATOR
    assert trace.position.tolist()[:5] == [0, 0, 1, -1, 1]


def test_places_that_other_entries_left_unused_are_dropped() -> None:
    columns = EventColumns.empty(5)
    assert columns.without_spare().filled == 0
    columns.filled = 3
    columns.name[:] = range(5)
    kept = columns.without_spare()
    assert (kept.name.tolist(), len(kept.start_ns), kept.filled) == ([0, 1, 2], 3, 3)
    columns.filled = 5
    assert columns.without_spare() is columns
