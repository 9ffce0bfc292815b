"""A trace's own answers: which rows own time, which inferences are steady, and who an operator is."""

from pathlib import Path

import numpy as np
import pytest

from etdump_builder import Event
from etprof.core.trace import EventKind, Trace
from trace_builder import RECORDED, a_call, an_inference, read_inferences, recorded

ADD, MUL, MEAN = "Add (ND) #1", "Multiply (ND) #1", "native_call_mean.out"


def kinds(folder: Path, *names: str) -> Trace:
    """An inference of one operator for each name."""
    return read_inferences(folder, *(an_inference(a_call(name), start_us=100 * i) for i, name in enumerate(names)))


@pytest.mark.parametrize(
    ("names", "steady"),
    [
        ([ADD, ADD, ADD], [False, True, True]),
        ([ADD], [True]),
        ([ADD, MUL, ADD, MUL, MUL], [False, False, True, True, True]),
        ([ADD, MUL, ADD], [False, True, True]),
    ],
)
def test_the_first_inference_of_each_kind_is_cold_unless_it_is_the_only_one(
    names: list[str], steady: list[bool], tmp_path: Path
) -> None:
    trace = kinds(tmp_path, *names)
    assert trace.is_steady.tolist() == steady
    assert trace.signature_count == len(set(names))


def test_only_operators_own_their_time(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, an_inference(a_call(ADD, MUL), portable=a_call(MEAN)))
    assert set(trace.names_of(trace.is_operator)) == {ADD, MUL, MEAN}
    assert set(trace.names_of(~trace.is_operator)) == {"DELEGATE_CALL", "OPERATOR_CALL", "Method::execute"}


def test_rows_of_chosen_inferences_leave_out_what_belongs_to_none(tmp_path: Path) -> None:
    setup = (Event("Method::init", 1, 2),)
    trace = read_inferences(
        tmp_path, an_inference(a_call(ADD), start_us=1), an_inference(a_call(MUL), start_us=100), setup=setup
    )
    rows = trace.rows_of(np.array([False, True]))
    assert trace.run[rows].tolist() == [1, 1, 1]
    assert trace.rows_of(np.array([True, True])).sum() == len(trace) - 1
    assert not trace.rows_of(np.array([True, True]))[trace.kind == EventKind.SETUP].any()


def test_an_operator_is_known_by_call_and_position_a_portable_one_by_position(tmp_path: Path) -> None:
    inference = an_inference(a_call(ADD, ADD), a_call(ADD), portable=a_call(MEAN, MEAN))
    stray = Event(MUL, 9_000, 9_500, 7, delegated=True)
    trace = read_inferences(tmp_path, (*inference[:-1], stray, inference[-1]))
    rows = np.flatnonzero(trace.is_operator).tolist()
    assert [trace.identity(row) for row in rows] == ["d0.0", "d0.1", "d1.0", "p0", "p1", "x0"]
    assert trace.identity(rows[1], kind=3) == "s3.d0.1"


def test_names_of_rows_are_listed_once_in_the_order_of_the_table(tmp_path: Path) -> None:
    trace = kinds(tmp_path, MUL, ADD, MUL)
    assert trace.names_of(trace.is_operator) == tuple(name for name in trace.names if name in (MUL, ADD))
    assert len(trace.names_of(trace.is_operator)) == 2
    assert trace.names_of(np.zeros(len(trace), np.bool_)) == ()


@pytest.mark.parametrize("name", RECORDED)
def test_in_a_real_trace_every_kind_has_a_steady_inference(name: str) -> None:
    trace = recorded(name)
    assert set(trace.signature[trace.is_steady].tolist()) == set(range(trace.signature_count))
    assert 0 < trace.is_steady.sum() <= trace.run_count
