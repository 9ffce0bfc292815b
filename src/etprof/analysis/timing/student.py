"""Quantiles and tails of Student's t distribution.

Written out rather than imported: scipy takes a fifth of a second to load, and every report would wait for it. The
distribution function is the incomplete beta function by its continued fraction (Abramowitz and Stegun, Handbook of
Mathematical Functions, 26.5.8 and 26.7.1), summed by Lentz's method (Applied Optics 15, 1976).
"""

from functools import lru_cache
from math import exp, lgamma, log, pi
from statistics import NormalDist

_SMALLEST = 1e-300
_PRECISION = 1e-14
_MOST_STEPS = 500


@lru_cache(maxsize=256)
def student_quantile(probability: float, degrees: float) -> float:
    """The value below which the distribution has this share; `probability` is above a half."""
    target = 2 * (1 - probability)
    value = NormalDist().inv_cdf(probability)
    for _ in range(_MOST_STEPS):
        error = two_sided_tail(value, degrees) - target
        step = error / (2 * _density(value, degrees))
        # The tail is convex, so that a step from below the answer never goes beyond it.
        value += step
        if abs(step) <= _PRECISION * value:
            break
    return value


def _density(value: float, degrees: float) -> float:
    scale = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2
    return exp(scale - (degrees + 1) / 2 * log(1 + value * value / degrees))


def two_sided_tail(value: float, degrees: float) -> float:
    """The share beyond `value` on both sides."""
    return 1.0 if not value else _incomplete_beta(degrees / (degrees + value * value), degrees / 2, 0.5)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    # Where a value is so small, or so large, that the rest of it is lost to rounding.
    if x <= 0:
        return 0.0
    if x >= (a + 1) / (a + b + 2):
        # The continued fraction converges fast on the other side.
        return 1 - _incomplete_beta(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    c, d = 1.0, _inverse(1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            d, c = _inverse(1 + term * d), 1 + term / (c or _SMALLEST)
            change = c * d
            total *= change
        if abs(change - 1) < _PRECISION:
            break
    return front * total


def _inverse(value: float) -> float:
    return 1 / (value if abs(value) > _SMALLEST else _SMALLEST)
