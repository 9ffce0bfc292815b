"""What a report's own types work out: titles, ratios, and which variants are to be improved."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.report import CategoryChange, Comparison, OperatorChange, Report, variants_to_improve
from etprof.core.rows import Accounting
from report_builder import a_report


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return a_report(tmp_path)


def a_comparison(report: Report, threads: tuple[int, int]) -> Comparison:
    (comparison,) = report.comparisons
    return replace(comparison, baseline=Variant("off", threads[0]), candidate=Variant("on", threads[1]))


def test_a_comparison_names_threads_once_where_they_are_the_same(report: Report) -> None:
    titles = [a_comparison(report, threads).title for threads in ((1, 1), (4, 4), (1, 4))]
    assert titles == ["on against off (1 thread)", "on against off (4 threads)", "on, 4 threads against off, 1 thread"]
    assert a_comparison(report, (4, 4)).names == ("off", "on")
    assert a_comparison(report, (1, 4)).names == ("off, 1 thread", "on, 4 threads")


def test_a_variant_is_found_by_experiment_and_threads(report: Report) -> None:
    assert report.of(Variant("on", 1)) is report.variants[1]
    with pytest.raises(StopIteration):
        report.of(Variant("on", 2))


def test_candidates_are_to_be_improved(report: Report) -> None:
    assert [variant.experiment for variant in report.to_improve] == ["on"]


def test_without_comparisons_those_that_hide_least_are_and_of_them_the_timed_ones(report: Report) -> None:
    off, on = report.variants
    hidden = replace(off, features_hidden=("sme",))
    sampled = replace(on, experiment="sampled", latency=None)
    assert variants_to_improve([hidden, on, sampled], ()) == [on]
    assert variants_to_improve([hidden, sampled], ()) == [sampled]
    assert variants_to_improve([replace(on, operators=())], ()) == []


def a_change(before: float | None, after: float | None) -> OperatorChange:
    ours = OperatorId("d0.1") if before is not None else None
    theirs = OperatorId("d0.2") if after is not None else None
    return OperatorChange("Add", "Elementwise", True, ours, theirs, before, after, None, None, None, False)


def test_an_operators_change_is_known_by_the_side_that_has_it() -> None:
    assert (a_change(3.0, 2.0).identity, a_change(3.0, None).identity) == ("d0.2", "d0.1")
    assert [a_change(*times).gain_ms for times in ((3.0, 2.0), (3.0, None), (None, 2.0))] == [1.0, 3.0, -2.0]
    assert [a_change(*times).speedup for times in ((3.0, 2.0), (3.0, None), (None, 2.0), (3.0, 0.0))] == [
        1.5, None, None, None,
    ]  # fmt: skip


def test_a_category_without_time_has_no_speed_up() -> None:
    assert CategoryChange("GEMM", 3.0, 2.0, 0.3, 0.2).speedup == 1.5
    assert CategoryChange("GEMM", 3.0, 0.0, 0.3, 0.0).speedup is None


def test_totals_are_given_per_inference() -> None:
    accounting = Accounting(4, 8_000_000, 0, 0, 0, 0, 0)
    assert accounting.per_run_ms(accounting.end_to_end_ns) == 2.0
    assert replace(accounting, runs=0).per_run_ms(1) == 0.0


def test_the_coefficient_of_variation_is_relative_to_the_mean(report: Report) -> None:
    latency = report.variants[0].latency
    assert latency is not None
    assert replace(latency, std_ms=0.5, mean_ms=2.0).cv == 0.25
    assert replace(latency, mean_ms=0.0).cv == 0.0
