"""Baseline against candidate per operator, and what is left to gain."""

from dataclasses import replace
from statistics import fmean

import pytest

from etprof.analysis.operators.ceilings import build_ceilings
from etprof.analysis.operators.operator_changes import build_operator_changes, find_dominant
from etprof.core.rows import CategoryRow
from report_builder import an_operator

BASELINE = (
    an_operator("d0.0", "Transpose (ND, X32) #1", 1.0),
    an_operator("d0.1", "Convolution (NHWC, F32) IGEMM #1", 8.0),
    an_operator("p0", "native_call_mean.out", 0.5),
)


def test_gains_add_up_and_the_largest_comes_first() -> None:
    candidate = (
        an_operator("d0.0", "Transpose (ND, X32) #1", 1.0, 3.5),
        an_operator("d0.1", "Convolution (NHWC, PF32) IGEMM #1", 2.0, 3.5),
        an_operator("p0", "native_call_mean.out", 0.3, 3.5),
    )
    changes = build_operator_changes(BASELINE, candidate)
    assert [change.gain_ms for change in changes] == pytest.approx([6.0, 0.2, 0.0])
    assert sum(change.share_of_gain or 0 for change in changes) == pytest.approx(1.0)
    assert changes[0].speedup == 4.0


def test_an_operator_that_only_one_variant_has_does_not_shift_the_others() -> None:
    candidate = (
        an_operator("d0.0", "Transpose (ND, X32) #1", 1.0),
        an_operator("d0.1", "Pack LH (X32) #1", 0.25),
        an_operator("d0.2", "Convolution (NHWC, PF32) IGEMM #1", 2.0),
        an_operator("p0", "native_call_mean.out", 0.5),
    )
    changes = {change.name: change for change in build_operator_changes(BASELINE, candidate)}
    pack = changes["Pack LH (X32) #1"]
    assert (pack.baseline_identity, pack.baseline_ms, pack.baseline_share) == (None, None, None)
    assert (pack.candidate_identity, pack.candidate_ms) == ("d0.1", 0.25)
    assert (pack.speedup, pack.gain_ms) == (None, -0.25)
    assert changes["Convolution (NHWC, PF32) IGEMM #1"].speedup == 4.0


def test_what_dominates_only_in_the_candidate_is_newly_dominant() -> None:
    candidate = (
        an_operator("d0.0", "Transpose (ND, X32) #1", 1.0, 1.5),
        an_operator("d0.1", "Convolution (NHWC, F32) IGEMM #1", 0.4, 1.5),
        an_operator("p0", "native_call_mean.out", 0.1, 1.5),
    )
    changes = build_operator_changes(BASELINE, candidate)
    assert [change.identity for change in changes if change.newly_dominant] == ["d0.0"]


def test_the_dominant_operators_take_half_of_the_time() -> None:
    assert [row.identity for row in find_dominant(BASELINE)] == ["d0.1"]
    assert find_dominant(()) == ()


def test_the_ceiling_is_amdahls() -> None:
    movement = CategoryRow("Data Movement", 6_000_000, 6.0, 0.6, 3)
    everything = CategoryRow("GEMM", 10_000_000, 10.0, 1.0, 3)
    ceilings = build_ceilings([movement, everything], BASELINE[1:2])
    assert [ceiling.speedup for ceiling in ceilings] == pytest.approx([2.5, None, 5.0])
    assert ceilings[2].part == "Convolution (NHWC, F32) IGEMM #1 [d0.1]"


def test_equal_variants_have_no_share_of_a_gain() -> None:
    assert {change.share_of_gain for change in build_operator_changes(BASELINE, BASELINE)} == {None}


@pytest.mark.parametrize(
    ("before", "after", "is_slower"),
    [
        ([1.0, 1.1, 1.2, 1.1] * 5, [1.3, 1.4, 1.5, 1.4] * 5, True),
        ([1.0, 1.1, 1.2, 1.1] * 5, [1.0, 1.1, 1.9, 1.8] * 5, False),  # the middle halves overlap
        ([1.0] * 20, [1.04] * 20, False),  # too little of itself
        ([1.0] * 7, [1.5] * 7, False),  # too few to tell
        ([0.1] * 20, [0.12] * 20, False),  # too little of an inference
        ([1.3, 1.4, 1.5, 1.4] * 5, [1.0, 1.1, 1.2, 1.1] * 5, False),
    ],
)
def test_an_operator_is_slower_where_its_times_say_so(before: list[float], after: list[float], is_slower: bool) -> None:
    rows = [
        replace(an_operator("d0.0", "Add (ND) #1", fmean(times)), samples_ms=tuple(times)) for times in (before, after)
    ]
    (change,) = build_operator_changes(rows[:1], rows[1:])
    assert change.is_slower is is_slower
