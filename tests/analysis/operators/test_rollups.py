"""Operators in groups: nothing is lost or counted twice, and a rate is given only where the work is known."""

from dataclasses import replace

import pytest

from etprof.analysis.operators.rollups import GROUPINGS, build_rollups, compare_groups, compare_rollups, roll_up
from etprof.core.errors import UnknownNameError
from etprof.core.rows import OperatorRow
from etprof.core.work import Work
from report_builder import an_operator

IGEMM = "Convolution (NHWC, QC8) IGEMM #1"


def a_layer(identity: str, kind: str, module: str, macs: int | None, ms: float) -> OperatorRow:
    work = Work(kind, (1, 8, 8, 4), (4, 3, 3, 4), (1, 8, 8, 4), macs, None)
    return replace(an_operator(identity, IGEMM, ms), kind=kind, module_path=module, work=work)


ROWS = (
    a_layer("d0.0", "depthwise 7x7", "stages.0.blocks.0.conv", 2_000_000, 4.0),
    a_layer("d0.1", "depthwise 7x7", "stages.0.blocks.1.conv", 2_000_000, 2.0),
    a_layer("d0.2", "1x1 convolution", "stages.1.fc", 90_000_000, 1.0),
    replace(an_operator("d0.3", "Add (ND) #1", 0.5), kind="elementwise", module_path="stages.1"),
    replace(an_operator("d0.4", "Transpose (ND, X32) #1", 0.25), kind="transpose"),
)


def test_kinds_of_layers_show_where_time_and_work_are() -> None:
    slow, fast, add, turn = roll_up(ROWS, "kind")
    assert (slow.name, slow.count, slow.mean_ms, slow.macs) == ("depthwise 7x7", 2, 6.0, 4_000_000)
    assert slow.gmac_per_s == pytest.approx(4 / 6)
    assert slow.share == pytest.approx(0.6)
    assert fast.name == "1x1 convolution"
    assert fast.gmac_per_s == pytest.approx(90.0)
    assert [(row.name, row.macs, row.gmac_per_s) for row in (add, turn)] == [
        ("elementwise", 0, None),
        ("transpose", 0, None),
    ]


@pytest.mark.parametrize("by", GROUPINGS)
def test_every_grouping_adds_up_to_the_operators(by: str) -> None:
    rows = roll_up(ROWS, by)
    assert sum(row.count for row in rows) == len(ROWS)
    assert sum(row.mean_ms for row in rows) == pytest.approx(sum(row.mean_ms for row in ROWS))
    assert sum(row.macs or 0 for row in rows) == 94_000_000
    assert [row.mean_ms for row in rows] == sorted((row.mean_ms for row in rows), reverse=True)


@pytest.mark.parametrize(
    ("depth", "names"),
    [
        (1, ["stages", "no module"]),
        (2, ["stages.0", "stages.1", "no module"]),
        (9, ["stages.0.blocks.0.conv", "stages.0.blocks.1.conv", "stages.1.fc", "stages.1", "no module"]),
    ],
)
def test_modules_are_groups_of_the_depth_asked_for(depth: int, names: list[str]) -> None:
    assert [row.name for row in roll_up(ROWS, "module", depth)] == names


def test_equal_shapes_are_one_group_of_each_kind() -> None:
    names = [row.name for row in roll_up(ROWS, "shape")]
    assert names[:2] == [f"{kind}: 1x8x8x4 * 4x3x3x4 -> 1x8x8x4" for kind in ("depthwise 7x7", "1x1 convolution")]


def test_unknown_work_of_one_operator_leaves_the_group_without_a_rate() -> None:
    unmapped = replace(an_operator("d0.5", IGEMM, 1.0), kind="1x1 convolution")
    (group,) = roll_up((ROWS[2], unmapped), "kind")
    assert (group.count, group.macs, group.gmac_per_s) == (2, None, None)
    (portable,) = roll_up((a_layer("p0", "linear", "head", None, 1.0),), "kind")
    assert portable.macs is None


def test_without_a_graph_only_kinds_are_known() -> None:
    rows = [replace(row, work=None, module_path="") for row in ROWS]
    assert list(build_rollups(rows)) == ["kind"]
    assert list(build_rollups(ROWS)) == list(GROUPINGS)
    assert build_rollups(()) == {}


def test_groups_before_and_after_are_matched_by_name() -> None:
    before = roll_up(ROWS, "kind")
    after = roll_up([replace(row, mean_ms=row.mean_ms / 2) for row in ROWS[:3]], "kind")
    changes = {change.name: change for change in compare_groups(before, after)}
    slow = changes["depthwise 7x7"]
    assert (slow.speedup, slow.gain_ms) == (2.0, 3.0)
    gone = changes["transpose"]
    assert (gone.candidate, gone.speedup, gone.gain_ms) == (None, None, 0.25)
    assert [c.name for c in compare_groups(before, after)][:2] == ["depthwise 7x7", "1x1 convolution"]
    assert list(compare_rollups(build_rollups(ROWS), {"kind": after})) == ["kind"]


def test_an_unknown_grouping_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        roll_up(ROWS, "layer")
    assert caught.value.hint == "Known: kind, module, shape."
