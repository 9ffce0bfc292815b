"""Baseline against candidate per operator, and what is left to gain."""

import pytest

from etprof.analysis.operator_shift import build_ceilings, build_operator_shifts, find_dominant
from etprof.core.report import CategoryRow, OperatorRow


def operator(identity: str, name: str, ms: float, whole_ms: float = 10.0) -> OperatorRow:
    return OperatorRow(
        identity=identity,
        name=name,
        category="GEMM",
        subcategory="fully connected",
        delegated=identity.startswith("d"),
        count=10,
        mean_ms=ms,
        median_ms=ms,
        share=ms / whole_ms,
    )


BASELINE = (
    operator("d0.0", "Transpose (ND, X32) #1", 1.0),
    operator("d0.1", "Convolution (NHWC, F32) IGEMM #1", 8.0),
    operator("p0", "native_call_mean.out", 0.5),
)


def test_gains_add_up_and_the_largest_comes_first() -> None:
    candidate = (
        operator("d0.0", "Transpose (ND, X32) #1", 1.0, 3.5),
        operator("d0.1", "Convolution (NHWC, PF32) IGEMM #1", 2.0, 3.5),
        operator("p0", "native_call_mean.out", 0.3, 3.5),
    )
    shifts = build_operator_shifts(BASELINE, candidate)
    assert [shift.gain_ms for shift in shifts] == pytest.approx([6.0, 0.2, 0.0])
    assert sum(shift.share_of_gain or 0 for shift in shifts) == pytest.approx(1.0)
    assert shifts[0].speedup == 4.0


def test_an_operator_that_only_one_arm_has_does_not_shift_the_others() -> None:
    candidate = (
        operator("d0.0", "Transpose (ND, X32) #1", 1.0),
        operator("d0.1", "Pack LH (X32) #1", 0.25),
        operator("d0.2", "Convolution (NHWC, PF32) IGEMM #1", 2.0),
        operator("p0", "native_call_mean.out", 0.5),
    )
    shifts = {shift.row.name: shift for shift in build_operator_shifts(BASELINE, candidate)}
    pack = shifts["Pack LH (X32) #1"]
    assert (pack.baseline, pack.speedup, pack.gain_ms) == (None, None, -0.25)
    assert shifts["Convolution (NHWC, PF32) IGEMM #1"].speedup == 4.0


def test_what_dominates_only_in_the_candidate_is_newly_dominant() -> None:
    candidate = (
        operator("d0.0", "Transpose (ND, X32) #1", 1.0, 1.5),
        operator("d0.1", "Convolution (NHWC, F32) IGEMM #1", 0.4, 1.5),
        operator("p0", "native_call_mean.out", 0.1, 1.5),
    )
    shifts = build_operator_shifts(BASELINE, candidate)
    assert [shift.row.identity for shift in shifts if shift.newly_dominant] == ["d0.0"]


def test_the_dominant_operators_take_half_of_the_time() -> None:
    assert [row.identity for row in find_dominant(BASELINE)] == ["d0.1"]
    assert find_dominant(()) == ()


def test_the_ceiling_is_amdahls() -> None:
    movement = CategoryRow("Data Movement", 6_000_000, 6.0, 0.6, 3)
    everything = CategoryRow("GEMM", 10_000_000, 10.0, 1.0, 3)
    ceilings = build_ceilings([movement, everything], BASELINE[1:2])
    assert [ceiling.speedup for ceiling in ceilings] == pytest.approx([2.5, None, 5.0])
    assert ceilings[2].part == "Convolution (NHWC, F32) IGEMM #1 [d0.1]"


def test_equal_arms_have_no_share_of_a_gain() -> None:
    assert {shift.share_of_gain for shift in build_operator_shifts(BASELINE, BASELINE)} == {None}
