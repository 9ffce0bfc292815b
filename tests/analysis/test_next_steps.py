"""Next steps: bounded by what was measured, ranked by it, for the arm that is to be improved."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.next_steps import find_next_steps
from etprof.core.report import OperatorChange
from report_builder import FIRST, a_report, one_arm, untraced


def test_steps_are_about_the_candidate_and_the_largest_bound_comes_first(tmp_path: Path) -> None:
    steps = a_report(tmp_path).next_steps
    assert {step.arm for step in steps} == {"on, 1 thread"}
    assert [step.saves_ms for step in steps] == sorted((step.saves_ms for step in steps), reverse=True)


def test_the_bound_of_the_transposes_is_their_time(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    (step,) = [step for step in report.next_steps if step.title == "Remove transposes"]
    rows = [row for row in report.arms[1].operators if row.subcategory == "transpose"]
    assert step.saves_ms == pytest.approx(sum(row.mean_ms for row in rows))
    assert step.share == pytest.approx(sum(row.share for row in rows))


def test_a_portable_operator_counts_in_one_step_only(tmp_path: Path) -> None:
    titles = [step.title for step in a_report(tmp_path).next_steps if "native_call" in step.reason]
    assert titles == ["Delegate the portable operators"]


def test_no_step_claims_more_than_the_whole_inference(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    whole = sum(row.mean_ms for row in report.arms[1].categories)
    assert all(0 < step.saves_ms <= whole and 0 < step.share <= 1 for step in report.next_steps)


def test_without_a_pair_a_single_arm_is_to_be_improved(tmp_path: Path) -> None:
    assert {step.arm for step in one_arm(tmp_path).next_steps} == {"off, 1 thread"}


def test_without_a_pair_no_step_is_told_for_the_arm_that_hides_features_nor_for_a_sampled_twin(tmp_path: Path) -> None:
    off, on = a_report(tmp_path).arms
    arms = [replace(off, features_hidden=("avx512f",)), on, replace(on, experiment="on_kernels", latency=None)]
    assert {step.arm for step in find_next_steps(arms, ())} == {"on, 1 thread"}
    # Where nothing was timed, what was sampled has to do; two thread counts are two arms.
    untimed = [replace(arm, latency=None) for arm in (arms[0], on, replace(on, threads=4))]
    steps = find_next_steps(untimed, ())
    assert {step.arm for step in steps} == {"on, 1 thread", "on, 4 threads"}


def test_without_a_trace_there_is_no_step(tmp_path: Path) -> None:
    assert untraced(tmp_path).next_steps == ()


def test_compute_that_was_left_behind_is_named(tmp_path: Path) -> None:
    report = a_report(tmp_path, first=(*FIRST, ("Convolution (NHWC, F32) DWConv #1", 500)))
    (step,) = [step for step in report.next_steps if "gained nothing" in step.title]
    assert "DWConv" in step.reason
    assert step.saves_ms < 0.5


def test_nobody_is_left_behind_where_nothing_gained(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    (comparison,) = report.comparisons
    same = tuple(replace(change, candidate_ms=change.baseline_ms) for change in comparison.operators)
    assert all(isinstance(change, OperatorChange) for change in same)
    steps = find_next_steps(report.arms, [replace(comparison, operators=same)])
    assert not [step for step in steps if "gained nothing" in step.title]
