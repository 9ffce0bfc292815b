"""Races between variants whose true times are known: who is dropped, who never is, and when a race is over."""

from dataclasses import replace

import pytest

from etprof.analysis.timing.racing import Costs, decide_race, find_beaten, list_open
from etprof.core.plan import Variant
from race_builder import MIB, list_costs, list_truths, race
from scaling_builder import BOUND, simulate

A, B = Variant("a", 1), Variant("b", 1)
SAME = Costs(accuracy=30.0, file_bytes=10 * MIB, peak_bytes=50 * MIB)
# That of a machine at rest: bench/verdicts.py.
NOISE = 0.007
SEEDS = 6


def beaten(b_ms: float, a: Costs = SAME, b: Costs = SAME, *, rounds: int = 12) -> dict[Variant, Variant]:
    """Who is beaten where `a` takes 10 ms."""
    times = simulate({"a": {1: 10.0}, "b": {1: b_ms}}, rounds=rounds, noise=0.002, seed=3)
    order = [A, B] if b_ms >= 10.0 else [B, A]
    return find_beaten(decide_race(times, times, seed=0, bound=BOUND), {A: a, B: b}, order, BOUND)


def test_who_is_slower_and_better_in_nothing_is_beaten() -> None:
    assert beaten(12.0) == {B: A}


@pytest.mark.parametrize(
    "better",
    [
        replace(SAME, accuracy=30.1),
        replace(SAME, file_bytes=9 * MIB),
        replace(SAME, peak_bytes=48 * MIB),
        replace(SAME, accuracy=None),
        replace(SAME, peak_bytes=None),
    ],
)
def test_who_is_better_in_one_thing_or_may_be_so_stays(better: Costs) -> None:
    assert beaten(12.0, b=better) == {}


def test_sizes_within_the_bound_count_as_equal() -> None:
    assert beaten(12.0, b=replace(SAME, file_bytes=round(9.9 * MIB), peak_bytes=round(49.5 * MIB))) == {B: A}


def test_who_reaches_the_floor_is_not_dropped_for_one_that_does_not() -> None:
    assert beaten(12.0, a=replace(SAME, meets_floors=False)) == {}


def test_of_two_that_are_equally_fast_the_less_accurate_one_is_beaten() -> None:
    assert beaten(10.0, b=replace(SAME, accuracy=20.0), rounds=30) == {B: A}
    assert beaten(9.99, b=replace(SAME, accuracy=20.0), rounds=30) == {B: A}


def test_of_two_that_are_alike_both_stay() -> None:
    assert beaten(10.0, rounds=30) == {}


def test_two_rounds_drop_nobody_and_leave_everything_open() -> None:
    times = simulate({"a": {1: 10.0}, "b": {1: 50.0}}, rounds=2, noise=0.001, seed=0)
    decided = decide_race(times, times, seed=0, bound=BOUND)
    assert find_beaten(decided, {A: SAME, B: SAME}, [A, B], BOUND) == {}
    assert list_open(decided) == [(A, B)]


def test_later_looks_have_to_be_surer() -> None:
    """A look at the same blocks would otherwise err once more."""
    early, late = (simulate({"a": {1: 10.0}, "b": {1: 12.0}}, rounds=n, noise=0.002, seed=3) for n in (3, 12))
    confidence = [decide_race(times, times, seed=0, bound=BOUND)[A, B].speedup for times in (early, late)]
    assert [round(each.confidence, 4) for each in confidence if each] == [0.9696, 0.9997]


@pytest.fixture(scope="module")
def races() -> list[tuple[float, bool]]:
    """The share of the time that each race spent, and whether the truly fastest is in its front."""
    truths, costs = list_truths(), list_costs()
    best = min(truths, key=truths.__getitem__)
    raced = [race(truths, costs, noise=NOISE, seed=seed, most=16) for seed in range(SEEDS)]
    return [(each.share_of_time(truths), best in each.front) for each in raced]


def test_the_true_best_is_in_the_front(races: list[tuple[float, bool]]) -> None:
    assert all(found for _, found in races)


def test_racing_takes_at_most_half_the_time_of_measuring_everything(races: list[tuple[float, bool]]) -> None:
    assert sorted(share for share, _ in races)[SEEDS // 2] <= 0.5
