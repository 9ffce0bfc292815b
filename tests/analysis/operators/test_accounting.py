"""The accounting: every nanosecond of every recorded trace has one owner."""

from pathlib import Path

import numpy as np
import pytest

from etdump_builder import Event
from etprof.analysis.operators.accounting import account_runs, build_accounting, build_categories, sum_by
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.core.categories import CATEGORIES, DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD, RULES, Rule
from etprof.core.trace import Trace
from trace_builder import RECORDED, read_inferences, recorded

SETUP = (Event("Method::init", 20, 60), Event("Program::load_method", 10, 70), Event("Method::init", 65, 75))
INFERENCE = (
    Event("Convolution (NHWC, F32) IGEMM #1", 110, 150, 0, delegated=True),
    Event("Add (ND) #1", 150, 160, 0, delegated=True),
    Event("DELEGATE_CALL", 105, 170, 0),
    Event("native_call_mean.out", 180, 190, 1),
    Event("OPERATOR_CALL", 175, 195, 1),
    Event("Method::execute", 100, 210),
)


def a_loaded_trace(folder: Path, *inferences: tuple[Event, ...]) -> Trace:
    return read_inferences(folder, *inferences, setup=SETUP)


@pytest.mark.parametrize("name", RECORDED)
def test_the_parts_add_up_to_the_whole_to_the_nanosecond(name: str) -> None:
    trace = recorded(name)
    runs = account_runs(trace)
    parts = runs.delegated + runs.portable + runs.delegate_overhead + runs.framework_overhead
    assert parts.tolist() == runs.end_to_end.tolist()
    for accounting in (build_accounting([trace]), build_accounting([trace], cold=True)):
        assert accounting.end_to_end_ns > 0
        assert accounting.end_to_end_ns == (
            accounting.delegated_ns
            + accounting.portable_ns
            + accounting.delegate_overhead_ns
            + accounting.framework_overhead_ns
        )
    whole = build_accounting([trace]).end_to_end_ns
    assert sum(row.total_ns for row in build_categories(collect_operators([trace]), build_accounting([trace]))) == whole


@pytest.mark.parametrize("name", RECORDED)
def test_no_part_of_a_recorded_trace_is_negative(name: str) -> None:
    runs = account_runs(recorded(name))
    for part in (runs.delegated, runs.portable, runs.delegate_overhead, runs.framework_overhead):
        assert part.min() >= 0


def test_each_part_is_what_it_says(tmp_path: Path) -> None:
    accounting = build_accounting([a_loaded_trace(tmp_path, INFERENCE)])
    assert accounting.end_to_end_ns == 110
    assert accounting.delegated_ns == 50
    assert accounting.portable_ns == 10
    assert accounting.delegate_overhead_ns == 15
    assert accounting.framework_overhead_ns == 35


def test_an_operator_outside_its_delegate_call_does_not_shrink_the_calls_overhead(tmp_path: Path) -> None:
    stray = Event("Add (ND) #9", 171, 174, 7, delegated=True)
    accounting = build_accounting([a_loaded_trace(tmp_path, (*INFERENCE[:3], stray, *INFERENCE[3:]))])
    assert accounting.delegated_ns == 53
    assert accounting.delegate_overhead_ns == 15
    assert accounting.framework_overhead_ns == 32


def test_load_and_init_stand_apart_and_count_once_where_they_overlap(tmp_path: Path) -> None:
    assert build_accounting([a_loaded_trace(tmp_path, INFERENCE)]).setup_ns == 65


def test_categories_stand_in_their_order_with_the_overheads_last(tmp_path: Path) -> None:
    trace = a_loaded_trace(tmp_path, INFERENCE)
    rows = build_categories(collect_operators([trace]), build_accounting([trace]))
    assert [row.name for row in rows] == [*CATEGORIES, DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD]
    assert [row.total_ns for row in rows] == [40, 0, 0, 10, 10, 15, 35]
    assert sum(row.share for row in rows) == pytest.approx(1.0)


def test_a_category_of_a_users_own_gets_its_row(tmp_path: Path) -> None:
    trace = a_loaded_trace(tmp_path, INFERENCE)
    rules = (Rule("^Add", "Mine", "add"), *RULES)
    rows = build_categories(collect_operators([trace]), build_accounting([trace]), rules)
    assert {row.name: row.total_ns for row in rows}["Mine"] == 10
    assert sum(row.total_ns for row in rows) == 110


def test_the_first_run_of_each_process_is_cold(tmp_path: Path) -> None:
    slow = (*INFERENCE[:-1], Event("Method::execute", 100, 9100))
    traces = [a_loaded_trace(tmp_path, slow, INFERENCE, INFERENCE), a_loaded_trace(tmp_path, slow, INFERENCE)]
    steady, cold = build_accounting(traces), build_accounting(traces, cold=True)
    assert (steady.runs, steady.end_to_end_ns) == (3, 330)
    assert (cold.runs, cold.end_to_end_ns) == (2, 18_000)


def test_a_run_that_failed_is_in_no_total() -> None:
    trace = recorded("failed_run")
    assert build_accounting([trace]).runs + build_accounting([trace], cold=True).runs == 3


def test_sums_are_exact_where_floating_point_is_not() -> None:
    value = np.array([(1 << 55) + 1, 1, (1 << 55) + 3], np.int64)
    assert sum_by(np.array([0, 0, 1], np.int32), value, 2).tolist() == [(1 << 55) + 2, (1 << 55) + 3]
