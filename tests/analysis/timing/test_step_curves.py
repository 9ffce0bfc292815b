"""Curves of steps: a planted slow-down is found with its size, and none is announced where there is none."""

import numpy as np
import pytest
from numpy.typing import NDArray

from etprof.analysis.timing.step_curves import FEWEST_STEPS, MOST_POINTS, StepTimes, build_curves, judge_growth
from etprof.core.estimates import Interval
from etprof.core.phases import CurveShape, StepCurve

BOUND = 0.02


def simulate(
    steps: int, growth: float, *, seed: int, blocks: int = 6, sequences: int = 5, noise: float = 0.02
) -> StepTimes:
    """Blocks that differ by 1 %, steps with noise, a slow first step, and now and then one that was disturbed."""
    rng = np.random.default_rng(seed)
    found: dict[int, NDArray[np.int64]] = {}
    for index in range(blocks):
        line = 1e6 * (1 + growth * np.arange(steps) / (steps - 1)) * np.exp(rng.normal(0, 0.01))
        times = line * np.exp(rng.normal(0, noise, (sequences, steps)))
        times[:, 0] *= 1.5
        times[rng.random(times.shape) < 0.02] *= 3
        found[index] = times.astype(np.int64)
    return found


def curve_of(times: StepTimes) -> StepCurve:
    steps = next(iter(times.values())).shape[1]
    (curve,) = build_curves([times], [np.arange(steps, dtype=np.int64)], BOUND)
    assert curve is not None
    return curve


@pytest.mark.parametrize("steps", [16, 64, 1000])
@pytest.mark.parametrize("growth", [0.1, 0.5, -0.2])
def test_a_planted_change_is_found_with_its_size(steps: int, growth: float) -> None:
    curve = curve_of(simulate(steps, growth, seed=1))
    assert curve.shape is (CurveShape.GROWS if growth > 0 else CurveShape.FALLS)
    assert curve.growth is not None
    assert curve.slope_ns is not None
    assert curve.growth.value == pytest.approx(growth, abs=0.04)
    assert curve.slope_ns.value == pytest.approx(growth * 1e6 / (steps - 1), rel=0.4)
    assert len(curve.median_ms) == min(steps, MOST_POINTS)


def test_no_change_is_announced_where_there_is_none() -> None:
    shapes = [curve_of(simulate(64, 0.0, seed=seed)).shape for seed in range(60)]
    announced = sum(shape in (CurveShape.GROWS, CurveShape.FALLS) for shape in shapes)
    assert announced <= 5
    assert CurveShape.CONSTANT in shapes


def test_many_flat_curves_together_announce_no_more_than_one_does() -> None:
    wrong = 0
    for seed in range(20):
        phases = [simulate(32, 0.0, seed=100 * seed + number) for number in range(10)]
        curves = build_curves(phases, [np.arange(32, dtype=np.int64)] * 10, BOUND)
        wrong += any(curve is not None and curve.shape in (CurveShape.GROWS, CurveShape.FALLS) for curve in curves)
    assert wrong <= 3


def test_a_phase_of_one_step_has_no_curve_and_one_of_few_no_growth() -> None:
    one = {0: np.full((3, 1), 1000, np.int64)}
    few = {index: np.full((3, FEWEST_STEPS - 1), 1000, np.int64) for index in range(4)}
    none, short = build_curves([one, few], [np.zeros(1, np.int64), np.arange(FEWEST_STEPS - 1)], BOUND)
    assert none is None
    assert short is not None
    assert (short.growth, short.shape) == (None, CurveShape.INCONCLUSIVE)
    assert "steps are too few" in short.reason


def test_two_blocks_are_too_few() -> None:
    curve = curve_of(simulate(16, 0.5, seed=2, blocks=2))
    assert (curve.growth, curve.shape) == (None, CurveShape.INCONCLUSIVE)
    assert "2 blocks are too few" in curve.reason


def test_steps_that_take_no_time_do_no_harm() -> None:
    curve = curve_of({index: np.zeros((3, 16), np.int64) for index in range(4)})
    assert curve.shape is CurveShape.CONSTANT


@pytest.mark.parametrize(
    ("low", "high", "shape"),
    [
        (-0.01, 0.02, CurveShape.CONSTANT),
        (0.001, 0.02, CurveShape.CONSTANT),
        (0.001, 0.05, CurveShape.GROWS),
        (-0.05, -0.001, CurveShape.FALLS),
        (-0.001, 0.05, CurveShape.INCONCLUSIVE),
    ],
)
def test_a_change_within_the_bound_is_none(low: float, high: float, shape: CurveShape) -> None:
    assert judge_growth(Interval((low + high) / 2, low, high), 16, 6, BOUND)[0] is shape
