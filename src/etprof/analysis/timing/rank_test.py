"""Wilcoxon's signed-rank test (Individual Comparisons by Ranking Methods, Biometrics Bulletin 1(6), 1945).

Written out rather than imported: scipy.stats takes half a second to load, and every report would wait for it.
"""

from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

# Up to here every one of the 2^n ways to give the ranks a sign is counted; beyond, the sum of ranks is all but normal.
_LARGEST_COUNTED = 50


def signed_rank_p_value(differences: NDArray[np.float64]) -> float:
    """Two-sided. Differences of zero say nothing and are left out; at least one must be different."""
    values = differences[differences != 0]
    _, place, count = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    # Equal sizes share the mean of their ranks.
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    positive, negative = float(ranks[values > 0].sum()), float(ranks[values < 0].sum())
    smaller = min(positive, negative)
    n = len(values)
    if n <= _LARGEST_COUNTED:
        return min(1.0, 2 * _share_up_to(smaller, ranks))
    mean = n * (n + 1) / 4
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((count**3 - count).sum()) / 48
    return 2 * NormalDist().cdf((smaller - mean) / sqrt(variance))


def _share_up_to(total: float, ranks: NDArray[np.float64]) -> float:
    """In which share of all ways to give the ranks a sign the positive ones add up to at most `total`."""
    ways = np.ones(1)
    # In halves, which the ranks of ties may have.
    for rank in np.round(2 * ranks).astype(int).tolist():
        ways = np.concatenate([ways, np.zeros(rank)]) + np.concatenate([np.zeros(rank), ways])
    return float(ways[: round(2 * total) + 1].sum() / 2.0 ** len(ranks))
