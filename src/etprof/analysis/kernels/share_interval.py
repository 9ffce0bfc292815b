"""The confidence interval of a share that was counted.

Wilson's score interval (E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
the American Statistical Association 22, 1927): it keeps its promise for few samples and for shares near 0 and 1, where
the textbook interval does not (Brown, Cai and DasGupta, Interval estimation for a binomial proportion, 2001).
"""

import math

from etprof.core.estimates import Interval

# The 97.5 % point of the normal distribution.
_Z = 1.959963984540054


def estimate_share(hits: int, samples: int) -> Interval | None:
    """The share of hits with its 95 % interval; None without samples."""
    if samples == 0:
        return None
    share, weight = hits / samples, _Z * _Z / samples
    centre = (share + weight / 2) / (1 + weight)
    reach = _Z / (1 + weight) * math.sqrt(share * (1 - share) / samples + weight / samples / 4)
    low = 0.0 if hits == 0 else centre - reach
    high = 1.0 if hits == samples else centre + reach
    return Interval(share, low, high)
