"""The interval of a counted share, against scipy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from etprof.analysis.kernels.share_interval import estimate_share


@given(st.integers(0, 500), st.integers(1, 500))
def test_the_interval_is_the_one_of_wilson(hits: int, others: int) -> None:
    found = estimate_share(hits, hits + others)
    expected = binomtest(hits, hits + others).proportion_ci(0.95, method="wilson")
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_nothing_counted_is_no_share() -> None:
    assert estimate_share(0, 0) is None


def test_three_samples_prove_little() -> None:
    found = estimate_share(0, 3)
    assert found is not None
    assert found.high > 0.5
