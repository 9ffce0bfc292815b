"""The tree of modules, whose boxes add up to the traced time."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports.module_tree import ModuleBox, ModuleTree, build_module_trees
from report_builder import a_report, one_variant, the_graph, with_graph


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return with_graph(tmp_path)


def only(report: Report) -> ModuleTree:
    (tree,) = build_module_trees(report)
    return tree


def test_the_top_box_is_the_whole_traced_time_before_and_after(report: Report) -> None:
    (comparison,) = report.comparisons
    top = only(report).boxes[0]
    assert (top.name, top.depth, top.start) == (report.model, 0, 0.0)
    assert top.width == pytest.approx(1.0)
    assert top.before_ms == pytest.approx(sum(row.baseline_ms for row in comparison.categories))
    assert top.after_ms == pytest.approx(sum(row.candidate_ms for row in comparison.categories))


def test_what_is_in_a_module_fills_it_from_the_left_and_never_leaves_it(report: Report) -> None:
    boxes = only(report).boxes
    for box in boxes:
        inside = [each for each in boxes if each.depth == box.depth + 1 and _is_within(each, box)]
        assert sum(each.width for each in inside) <= box.width + 1e-9
        for left, right in pairwise(inside):
            assert right.start == pytest.approx(left.start + left.width)
    names = [(box.path, box.depth) for box in boxes]
    assert names == [
        ("", 0), ("stem", 1), ("stem.conv", 2), ("stem.token", 2), ("stem.token.linear", 3), ("head", 1), ("up", 1),
        ("delegate and framework overhead", 1),
    ]  # fmt: skip


def _is_within(inner: ModuleBox, outer: ModuleBox) -> bool:
    return inner.start >= outer.start - 1e-9 and inner.start + inner.width <= outer.start + outer.width + 1e-9


def test_an_inserted_transpose_counts_with_the_module_it_stands_beside(report: Report) -> None:
    box = next(box for box in only(report).boxes if box.path == "stem.conv")
    own = [c for c in report.comparisons[0].operators if c.identity in ("d0.0", "d0.1")]
    assert box.operators == 2
    assert box.after_ms == pytest.approx(sum(c.candidate_ms or 0.0 for c in own))
    assert box.speedup == pytest.approx(sum(c.baseline_ms or 0.0 for c in own) / box.after_ms)


def test_colours_are_those_of_the_category_and_of_the_speed_up(report: Report) -> None:
    boxes = {box.path: box for box in only(report).boxes}
    assert boxes["stem.conv"].category == "Convolution"
    by_speedup = {path: box.colours[1].fill for path, box in boxes.items()}
    # The convolution became faster, the head did not change.
    assert by_speedup["stem.conv"] != by_speedup["head"]
    assert only(report).speedups
    slower = replace(boxes["head"], before_ms=1.0, after_ms=2.0)
    unknown = replace(boxes["head"], before_ms=None)
    assert len({slower.colours[1], unknown.colours[1], boxes["head"].colours[1]}) == 3


def test_a_hint_says_all_of_a_box(report: Report) -> None:
    box = next(box for box in only(report).boxes if box.path == "stem.token.linear")
    assert box.hint.startswith("stem.token.linear: 0.8")
    assert " before, " in box.hint
    assert "mostly GEMM; 1 operator" in box.hint


def test_without_a_comparison_each_variant_has_a_tree_without_speed_ups(tmp_path: Path) -> None:
    report = a_report(tmp_path, graph=the_graph())
    single = replace(report, comparisons=(), variants=report.variants[1:])
    tree = only(single)
    assert (tree.title, tree.names, tree.speedups) == ("on, 1 thread", ("time",), [])
    assert tree.boxes[0].after_ms == pytest.approx(sum(row.mean_ms for row in single.variants[0].categories))


def test_without_modules_there_is_no_tree(tmp_path: Path) -> None:
    assert build_module_trees(a_report(tmp_path)) == []
    assert build_module_trees(one_variant(tmp_path)) == []


def test_boxes_that_nobody_could_see_are_not_drawn(report: Report) -> None:
    tree = only(report)
    tiny = replace(tree.boxes[-1], width=0.0002)
    assert tiny not in replace(tree, boxes=(*tree.boxes, tiny)).drawn
    assert tiny not in replace(tree, boxes=(*tree.boxes, tiny)).rows
