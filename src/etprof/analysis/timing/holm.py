"""Many comparisons at once: how sure each must be, so that all claims hold together.

Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6(2), 1979.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.student import two_sided_tail


def paired_p_value(differences: NDArray[np.float64]) -> float:
    """Student's test of at least two paired differences, two-sided: the one its interval stands for."""
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / sqrt(len(differences))
    if not error:
        return 0.0 if mean else 1.0
    return two_sided_tail(abs(mean) / error, len(differences) - 1)


def holm_levels(p_values: Sequence[float], level: float) -> list[float]:
    """The level that each comparison is judged at; all together err with a probability of at most `level`.

    The smallest p-value meets the strictest level. From the first that is not significant on, all share its level:
    none of them is, and an interval of that level says so.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    levels = [0.0] * len(p_values)
    own, still_significant = level / max(len(p_values), 1), True
    for rank, index in enumerate(order):
        if still_significant:
            own = level / (len(p_values) - rank)
        still_significant = still_significant and p_values[index] <= own
        levels[index] = own
    return levels
