"""The signed-rank test against the one of a library that is trusted."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from etprof.analysis.timing.rank_test import signed_rank_p_value


@pytest.mark.parametrize("count", [3, 4, 6, 12, 24, 50, 60, 200])
def test_p_values_are_those_of_scipy(count: int) -> None:
    rng = np.random.default_rng(count)
    for shift in (0.0, 0.3, 2.0):
        values = rng.normal(shift, 1.0, count)
        assert signed_rank_p_value(values) == pytest.approx(float(stats.wilcoxon(values).pvalue), rel=1e-9)


def test_zeros_are_left_out() -> None:
    assert signed_rank_p_value(np.array([0.0, 1.0, 2.0, -3.0])) == signed_rank_p_value(np.array([1.0, 2.0, -3.0]))


def test_equal_sizes_are_counted_exactly() -> None:
    """Three equal gains: each of the eight ways to give them a sign is as likely, and two are as extreme."""
    assert signed_rank_p_value(np.array([1.0, 1.0, 1.0])) == pytest.approx(2 / 8)
    assert signed_rank_p_value(np.array([1.0, -1.0])) == 1.0


def test_ties_share_their_ranks() -> None:
    """Against counting every one of the 64 ways to give six differences a sign."""
    differences = np.array([1.0, 1.0, -1.0, 2.0, 2.0, -3.0])
    ranks = stats.rankdata(np.abs(differences))
    sums = [sum(r for r, sign in zip(ranks, signs, strict=True) if sign) for signs in product((0, 1), repeat=6)]
    seen = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    assert signed_rank_p_value(differences) == pytest.approx(2 * sum(total <= seen for total in sums) / len(sums))


def test_many_ties_are_allowed_for_in_the_variance() -> None:
    differences = np.random.default_rng(1).integers(-3, 5, 200).astype(float)
    differences = differences[differences != 0]
    expected = float(stats.wilcoxon(differences).pvalue)
    assert signed_rank_p_value(differences) == pytest.approx(expected, rel=1e-9)
