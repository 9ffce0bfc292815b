"""Two arms must compute the same thing."""

import numpy as np
import pytest

from etprof.analysis.outputs import output_tolerance, relative_difference


def test_the_difference_is_relative_to_the_largest_value() -> None:
    assert relative_difference([np.array([1.0, -10.0])], [np.array([1.5, -10.0])]) == pytest.approx(0.05)


def test_the_worst_output_counts() -> None:
    same, other = np.array([1.0]), np.array([2.0])
    assert relative_difference([same, same], [same, other]) == pytest.approx(1.0)


def test_other_shapes_counts_or_infinities_differ_without_bound() -> None:
    assert relative_difference([np.zeros(2)], [np.zeros(3)]) == float("inf")
    assert relative_difference([np.zeros(2)], []) == float("inf")
    assert relative_difference([np.array([1.0])], [np.array([np.nan])]) == float("inf")


def test_nothing_to_compare_is_not_a_difference_of_zero() -> None:
    assert relative_difference([], []) is None


def test_fp16_and_quantised_models_may_differ_more() -> None:
    tolerances = [output_tolerance({"precision": p}) for p in ("fp32", "fp16", "q8")]
    assert tolerances == sorted(tolerances)
    assert len(set(tolerances)) == 3
