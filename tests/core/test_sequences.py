"""The inferences of a trace get the phases of a workload by their order."""

from pathlib import Path

import numpy as np
import pytest

from etprof.core.inferences import split_inferences
from etprof.core.sequences import mark_phases, number_phases
from etprof.core.trace import Trace
from etprof.core.workload import MOST_TRACED
from trace_builder import a_call, an_inference, read_inferences
from workload_builder import a_workload


def a_plain_trace(folder: Path, inferences: int) -> Trace:
    """Inferences of the same operators: nothing in them tells phases apart."""
    events = [an_inference(a_call("Add (ND) #1"), start_us=10 * number) for number in range(inferences)]
    return read_inferences(folder, *events)


@pytest.mark.parametrize("repeats", [(1,), (1, 3), (2, 1, 4), (1,) * 50])
def test_inferences_are_the_steps_of_each_sequence_in_turn(repeats: tuple[int, ...], tmp_path: Path) -> None:
    workload = a_workload(*repeats)
    order = [number for number, count in enumerate(repeats) for _ in range(count)]
    assert number_phases(workload).tolist() == order
    trace = mark_phases(a_plain_trace(tmp_path, 3 * len(order)), workload)
    assert trace.phase is not None
    assert trace.phase.tolist() == order * 3
    assert trace.is_steady.tolist() == [False] * len(order) + [True] * 2 * len(order)


def test_phases_of_the_same_operators_are_different_kinds_of_inferences(tmp_path: Path) -> None:
    trace = mark_phases(a_plain_trace(tmp_path, 8), a_workload(1, 3))
    (parts,) = split_inferences([trace])
    assert [(part.kind, part.phase, part.runs.tolist()) for part in parts] == [
        (0, 0, [0, 4]),
        (1, 1, [1, 2, 3, 5, 6, 7]),
    ]
    assert [str(part.identities[0]) for part in parts] == ["s0.d0.0", "s1.d0.0"]


def test_the_only_sequence_is_not_cold(tmp_path: Path) -> None:
    assert mark_phases(a_plain_trace(tmp_path, 4), a_workload(1, 3)).is_steady.all()


@pytest.mark.parametrize("inferences", [1, 3, 5])
def test_a_trace_that_ends_in_a_sequence_has_no_phases(inferences: int, tmp_path: Path) -> None:
    trace = a_plain_trace(tmp_path, inferences)
    assert mark_phases(trace, a_workload(1, 3)) is trace


def test_a_trace_without_a_workload_stays_as_it_is(tmp_path: Path) -> None:
    trace = a_plain_trace(tmp_path, 2)
    assert mark_phases(trace, None) is trace


def test_of_a_long_phase_some_steps_are_traced() -> None:
    assert np.bincount(number_phases(a_workload(1, 10_000))).tolist() == [1, MOST_TRACED]
