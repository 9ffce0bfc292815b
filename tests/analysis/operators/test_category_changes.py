"""Categories before and after, and the one that takes the most time."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.operators.category_changes import build_category_changes, find_bottleneck
from etprof.core.report import VariantReport
from report_builder import a_report


@pytest.fixture
def variants(tmp_path: Path) -> tuple[VariantReport, VariantReport]:
    off, on = a_report(tmp_path).variants
    return off, on


def test_each_category_has_its_time_and_share_on_both_sides(variants: tuple[VariantReport, VariantReport]) -> None:
    off, on = variants
    changes = build_category_changes(off, on)
    assert [change.name for change in changes] == [row.name for row in off.categories]
    assert [(c.baseline_ms, c.baseline_share) for c in changes] == [(row.mean_ms, row.share) for row in off.categories]
    assert [(c.candidate_ms, c.candidate_share) for c in changes] == [(row.mean_ms, row.share) for row in on.categories]
    assert {change.name: change.speedup for change in changes}["Convolution"] == pytest.approx(4.0, rel=0.01)


def test_a_category_that_one_side_lacks_is_not_compared(variants: tuple[VariantReport, VariantReport]) -> None:
    off, on = variants
    changes = build_category_changes(off, replace(on, categories=on.categories[1:]))
    assert [change.name for change in changes] == [row.name for row in off.categories[1:]]
    assert build_category_changes(off, replace(on, categories=())) == ()


def test_a_category_that_takes_no_time_any_more_has_no_speed_up(variants: tuple[VariantReport, VariantReport]) -> None:
    off, on = variants
    gone = replace(on, categories=tuple(replace(row, mean_ms=0.0) for row in on.categories))
    assert {change.speedup for change in build_category_changes(off, gone)} == {None}


def test_the_bottleneck_is_the_category_with_the_most_time(variants: tuple[VariantReport, VariantReport]) -> None:
    off, on = variants
    assert (find_bottleneck(off), find_bottleneck(on)) == ("Convolution", "Data Movement")
    assert find_bottleneck(replace(on, categories=())) == ""
