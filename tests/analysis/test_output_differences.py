"""Two variants must compute the same thing."""

import numpy as np
import pytest

from builders import an_export_meta
from etprof.analysis.output_differences import (
    list_not_finite,
    list_not_numbers,
    output_tolerance,
    relative_difference,
)


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


def test_infinities_of_opposite_sign_and_a_nan_for_an_infinity_differ_without_bound() -> None:
    values = np.array([np.inf, -np.inf, np.nan])
    assert relative_difference([values[:1]], [values[1:2]]) == float("inf")
    assert relative_difference([values[:1]], [values[2:]]) == float("inf")
    assert relative_difference([values], [values.copy()]) == 0.0


def test_what_is_no_number_is_listed_and_the_rest_is_compared() -> None:
    numbers = np.array([1.0, 2.0])
    assert relative_difference([numbers, None], [numbers, None]) == 0.0
    assert relative_difference([None], [None]) is None
    assert relative_difference([numbers], [None]) == float("inf")
    assert list_not_numbers([numbers, None], ["float32", "string"]) == ("output 1 (string)",)


def test_nan_and_infinity_are_counted_output_by_output() -> None:
    outputs = [np.array([np.nan, np.inf, 1.0]), np.array([1.0]), None]
    assert list_not_finite(outputs) == ("output 0 (2 of 3 values)",)


def test_fp16_and_quantised_models_may_differ_more() -> None:
    tolerances = [output_tolerance(an_export_meta(precision=p)) for p in ("fp32", "fp16", "q8")]
    assert tolerances == sorted(tolerances)
    assert len(set(tolerances)) == 3


def test_a_model_of_unknown_origin_is_held_to_fp32() -> None:
    assert output_tolerance(None) == output_tolerance(an_export_meta(precision="fp32"))


def test_infinities_in_the_same_places_do_not_differ_and_an_all_zero_output_is_compared_absolutely() -> None:
    assert relative_difference([np.array([np.inf, 2.0])], [np.array([np.inf, 2.0])]) == 0.0
    assert relative_difference([np.zeros(2)], [np.array([0.0, 0.25])]) == 0.25
    assert relative_difference([np.zeros(0)], [np.zeros(0)]) == 0.0
