"""What a reader is told about a trace: one note for each thing that is unusual, none for a plain one."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from etdump_builder import Event
from etprof.traces.trace_notes import find_notes
from trace_builder import a_call, an_inference, read_inferences, recorded

PLAIN = an_inference(a_call("Conv #1", "Add #1"))


def test_a_plain_trace_has_no_note(tmp_path: Path) -> None:
    assert find_notes(read_inferences(tmp_path, PLAIN, PLAIN), 0) == ()


def test_events_of_a_cut_off_inference_are_counted(tmp_path: Path) -> None:
    (note,) = find_notes(read_inferences(tmp_path, PLAIN, PLAIN[:2]), 0)
    assert note == "2 events belong to no complete inference (it was cut off); no total includes them."


def test_a_trace_without_an_inference_says_so(tmp_path: Path) -> None:
    notes = find_notes(read_inferences(tmp_path, PLAIN[:-1]), 0)
    assert notes[-1] == "There is no complete inference in this trace."


def test_kinds_of_inferences_are_counted_and_a_long_list_is_cut(tmp_path: Path) -> None:
    (note,) = find_notes(recorded("two_methods"), 0)
    assert "of 2 kinds (several methods, input shapes or branches), with 3, 3 runs" in note
    many = [an_inference(a_call(f"Conv #{i}")) for i in range(9)]
    (note,) = find_notes(read_inferences(tmp_path, *many), 0)
    assert "of 9 kinds" in note
    assert "with 1, 1, 1, 1, 1, 1, 1, 1, ... runs" in note


def test_operators_outside_of_their_call_are_counted(tmp_path: Path) -> None:
    stray = (replace(PLAIN[0], instruction=7), *PLAIN[1:])
    (note,) = find_notes(read_inferences(tmp_path, stray), 0)
    assert note.startswith("1 delegated operators are outside any DELEGATE_CALL")


def test_unknown_events_are_named_up_to_five(tmp_path: Path) -> None:
    unknown = [Event(f"timer {i}", 1, 2) for i in range(6)]
    (note,) = find_notes(read_inferences(tmp_path, (*unknown, *PLAIN)), 0)
    assert "framework overhead: 'timer 0', 'timer 1', 'timer 2', 'timer 3', 'timer 4'." in note


def test_debug_events_are_said_to_cost_time(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, PLAIN)
    assert np.count_nonzero(trace.run >= 0) == len(PLAIN)
    (note,) = find_notes(trace, 1200)
    assert note.startswith("1,200 debug events")
