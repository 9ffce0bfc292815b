"""How much longer an operator takes on one CPU than on another, from the operators that both were calibrated with.

The ratio of an operator is the mean of the log-ratios of probes, weighted by how near they are to it in size. Probes of
the same case, which take the same kernel, and of like size count first; where few of them are near, the mean falls back
to the same case of any size, to the same group and data type, to the group, and to operators that only move data:
hierarchical shrinkage (Gelman and Hill, Data Analysis Using Regression and Multilevel/Hierarchical Models, 2007,
chapter 12).
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from etprof.core.device_profile import MOVEMENT, DeviceProfile, Extent, Level, ProbedOperator
from etprof.core.predictions import KernelCase

# Two operators whose rows, depths, columns or divisors differ by so many powers of two are one bandwidth apart.
_BANDWIDTHS = np.array([1.0, 1.0, 1.0, 1.0])
# Kernels compute so many columns at a time at most: what is left over is computed by other code, or wasted.
_WIDEST_TILE = 64
# So much weight has what a wider group says, in probes of the same size as the operator.
_PRIOR_WEIGHT = 0.3
# XNNPACK counts whole microseconds: the ratio of probes that take few of them is uncertain.
_COUNTED_US = 1.0
# A probe whose blocks differ so much counts half.
_NOISY = 0.1
# No probe was found to be nearer to what its neighbours say.
_LEAST_SPREAD = 0.03
# Of a ratio that no probe says anything about.
_UNKNOWN_SPREAD = 0.7


@dataclass(frozen=True)
class Ratio:
    """The logarithm of target time / source time with its standard deviation, and in words what it comes from."""

    log: float
    spread: float
    basis: str


@dataclass(frozen=True)
class RatioSample:
    case: KernelCase
    group: str
    extent: Extent
    log_ratio: float
    weight: float


@dataclass(frozen=True)
class Wanted:
    """The operator whose ratio is wanted; without `case` or `extent` the mean of its group stands for it."""

    group: str
    case: KernelCase | None = None
    extent: Extent | None = None


def list_samples(source: tuple[DeviceProfile, Level], target: tuple[DeviceProfile, Level]) -> tuple[RatioSample, ...]:
    """The probes that both profiles have on these levels."""
    known = {operator.probe: operator for operator in target[0].operators}
    return tuple(
        _compare(operator, known[operator.probe], source[1].name, target[1].name)
        for operator in source[0].operators
        if operator.probe in known
    )


def _compare(before: ProbedOperator, after: ProbedOperator, source: str, target: str) -> RatioSample:
    source_us, target_us = before.times_us[source], after.times_us[target]
    shorter = min(source_us.value, target_us.value)
    noise = max(each.high / each.value - 1 for each in (source_us, target_us))
    return RatioSample(
        case=before.case,
        group=before.group,
        extent=before.extent,
        log_ratio=float(np.log(target_us.value / source_us.value)),
        weight=shorter / (shorter + _COUNTED_US) / (1 + (noise / _NOISY) ** 2),
    )


class _Group:
    """Samples with something in common."""

    def __init__(self, samples: Sequence[RatioSample]) -> None:
        self.sizes = np.array([_measure(sample.extent) for sample in samples])
        self.logs = np.array([sample.log_ratio for sample in samples])
        self.weights = np.array([sample.weight for sample in samples])

    def weigh(self, extent: Extent | None, bandwidths: float | None) -> NDArray[np.float64]:
        if extent is None or bandwidths is None:
            return self.weights
        apart = (self.sizes - _measure(extent)) / _BANDWIDTHS / bandwidths
        near: NDArray[np.float64] = self.weights * np.exp(-0.5 * (apart**2).sum(axis=1))
        return near


def _measure(extent: Extent) -> NDArray[np.float64]:
    """Powers of two: of rows, depth and columns, and of the largest tile that divides the columns."""
    divisor = gcd(extent.columns, _WIDEST_TILE)
    return np.log2(np.array([extent.rows, extent.depth, extent.columns, divisor], np.float64))


@dataclass(frozen=True)
class _Step:
    """Who counts, and within how many bandwidths; None where size does not matter."""

    basis: str
    find_key: Callable[[str, KernelCase | None], Hashable]
    bandwidths: float | None


# From the widest to the narrowest: each step refines the one before as far as probes are near.
_STEPS = (
    _Step("operators that move data", lambda _group, _case: MOVEMENT, None),
    _Step("operators of the group {group}", lambda group, _case: group, None),
    _Step("operators of the group {group} and type", lambda group, case: (group, case and case.inputs), 3.0),
    _Step("operators of the same kernel and any size", lambda _group, case: case, 3.0),
    _Step("operators of the same kernel and like size", lambda _group, case: case, 1.0),
)


class RatioModel:
    """The ratios of probes, to be asked for the ratio of any operator."""

    def __init__(self, samples: Iterable[RatioSample]) -> None:
        known = tuple(samples)
        moving = [sample for sample in known if sample.group == MOVEMENT]
        self._steps = [(step, _split(moving if step is _STEPS[0] else known, step)) for step in _STEPS]

    def estimate(self, wanted: Wanted) -> Ratio:
        found = Ratio(0.0, _UNKNOWN_SPREAD, "nothing: its time is carried over")
        for step, groups in self._steps:
            group = groups.get(step.find_key(wanted.group, wanted.case))
            if group is not None and (wanted.extent is not None or step.bandwidths is None):
                weights = group.weigh(wanted.extent, step.bandwidths)
                found = _refine(found, group, weights, step.basis.format(group=wanted.group))
        return found


def _split(samples: Iterable[RatioSample], step: _Step) -> dict[Hashable, _Group]:
    members: dict[Hashable, list[RatioSample]] = {}
    for sample in samples:
        members.setdefault(step.find_key(sample.group, sample.case), []).append(sample)
    return {key: _Group(own) for key, own in members.items()}


def _refine(wider: Ratio, group: _Group, weights: NDArray[np.float64], basis: str) -> Ratio:
    whole = weights.sum() + _PRIOR_WEIGHT
    log = float((weights @ group.logs + _PRIOR_WEIGHT * wider.log) / whole)
    variance = (weights @ (group.logs - log) ** 2 + _PRIOR_WEIGHT * (wider.spread**2 + (wider.log - log) ** 2)) / whole
    spread = max(float(np.sqrt(variance)), _LEAST_SPREAD)
    return Ratio(log, spread, basis if weights.sum() >= _PRIOR_WEIGHT else wider.basis)
