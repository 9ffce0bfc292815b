"""Quantiles of Student's t against those of a library that is trusted."""

import pytest
from scipy import stats

from etprof.analysis.timing.student import student_quantile, two_sided_tail


@pytest.mark.parametrize("degrees", [1, 1.3, 2, 2.5, 3, 5, 7.7, 11, 23, 50, 100.5, 1000, 100_000])
@pytest.mark.parametrize("probability", [0.55, 0.9, 0.975, 0.995, 0.9999])
def test_quantiles_are_those_of_scipy(probability: float, degrees: float) -> None:
    assert student_quantile(probability, degrees) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-8)


@pytest.mark.parametrize("value", [0.0, 1e-17, 1e-9, 0.5, 3.0, 50.0, 1e200])
def test_tails_are_those_of_scipy_however_small_or_large_the_value(value: float) -> None:
    assert two_sided_tail(value, 29) == pytest.approx(2 * stats.t.sf(value, 29), rel=1e-8, abs=1e-300)
