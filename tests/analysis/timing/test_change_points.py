"""Where the level of a series changed: found soon after a real step, and not announced in a flat series."""

from itertools import pairwise

import numpy as np
import pytest

from etprof.analysis.timing.change_points import FEWEST_RUNS, find_level_changes

pytest.importorskip("ruptures")

SEEDS = 200
SPREAD = 0.01


def series(seed: int, runs: int, *, step: float = 0.0, after: int = 0) -> list[float]:
    """Normal noise; the last `after` values are higher by `step` times the spread."""
    noise = np.random.default_rng(seed).standard_normal(runs)
    noise[runs - after :] += step if after else 0.0
    return [5 * float(value) for value in np.exp(SPREAD * noise)]


@pytest.mark.parametrize("before", [10, 40])
def test_a_step_of_four_spreads_is_found_within_three_runs(before: int) -> None:
    found = 0
    for seed in range(SEEDS):
        changes, _ = find_level_changes(series(seed, before + 3, step=4, after=3))
        found += any(abs(change.index - before) <= 1 for change in changes)
    assert found >= 0.95 * SEEDS


@pytest.mark.parametrize("runs", [10, 40, 120])
def test_no_step_is_announced_in_a_flat_series(runs: int) -> None:
    assert sum(bool(find_level_changes(series(seed, runs))[0]) for seed in range(SEEDS)) <= 0.05 * SEEDS


def test_the_step_has_its_size_and_the_spread_is_that_between_runs() -> None:
    (change,), spread = find_level_changes(series(1, 60, step=10, after=30))
    assert change.index == 30
    assert change.change == pytest.approx(0.105, abs=0.01)
    assert spread == pytest.approx(SPREAD, rel=0.3)
    assert change.spread == spread


def test_several_steps_stand_in_their_order() -> None:
    values = series(2, 60)
    values[20:] = [value * 1.2 for value in values[20:]]
    values[40:] = [value / 1.1 for value in values[40:]]
    changes, _ = find_level_changes(values)
    assert [change.index for change in changes] == [20, 40]
    assert all(one.after == other.before for one, other in pairwise(changes))


def test_one_slow_run_is_no_step() -> None:
    values = series(3, 30)
    values[15] *= 1.5
    assert find_level_changes(values)[0] == ()


def test_equal_values_have_no_step_and_a_clean_step_among_them_is_one() -> None:
    assert find_level_changes([2.0] * 20) == ((), 0.0)
    (change,), _ = find_level_changes([2.0] * 10 + [3.0] * 10)
    assert change.index == 10


def test_few_runs_tell_nothing() -> None:
    assert find_level_changes([1.0] * (FEWEST_RUNS - 1)) == ((), None)
