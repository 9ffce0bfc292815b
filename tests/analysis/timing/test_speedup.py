"""The statistics hold what they claim, on schedules whose truth is known.

These are small, seeded versions of bench/verdicts.py, which has the full counts.
"""

from collections import Counter
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray

from builders import a_result
from etprof.analysis.timing.speedup import (
    estimate_speedup,
    estimate_unpaired_speedup,
    judge,
    log_ratios,
    measure_noise_floor,
    rank_test,
)
from etprof.core.estimates import Interval, Verdict

# The spread of block medians seen on a shared two-core machine at rest.
NOISE = 0.007
BOUND = 0.02


def simulate(
    rng: np.random.Generator,
    *,
    truth: float,
    blocks: int,
    drift: float = 0.0,
    interleaved: bool = True,
    spread: float = NOISE,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Block medians of baseline and candidate on a machine that slows down by `drift` with every block."""
    turns = [turn for i in range(blocks) for turn in ("bc" if i % 2 == 0 else "cb")]
    if not interleaved:
        turns = sorted(turns)
    times: dict[str, list[float]] = {"b": [], "c": []}
    for when, variant in enumerate(turns):
        noise = exp(rng.normal(0.0, spread) + drift * when)
        times[variant].append(5.0 * noise / (truth if variant == "c" else 1.0))
    return np.array(times["b"]), np.array(times["c"])


def verdicts(
    *, truth: float, blocks: int, drift: float = 0.0, interleaved: bool = True, spread: float = NOISE
) -> Counter[Verdict]:
    rng = np.random.default_rng(11)
    found: Counter[Verdict] = Counter()
    for seed in range(200):
        before, after = simulate(rng, truth=truth, blocks=blocks, drift=drift, interleaved=interleaved, spread=spread)
        speedup = estimate_speedup(np.log(before / after), seed)
        found[judge(speedup, measure_noise_floor([before, after], seed), blocks, BOUND)[0]] += 1
    return found


@pytest.mark.parametrize(
    ("truth", "spread", "blocks"),
    [(1.15, 0.3, 6), (1.15, 0.1, 3), (1 / 1.15, 0.3, 12), (1.021, 0.3, 3), (1.021, 0.02, 6), (1.021, NOISE, 6)],
)
def test_a_difference_beyond_the_bound_is_called_none_in_at_most_a_twentieth(
    truth: float, spread: float, blocks: int
) -> None:
    assert verdicts(truth=truth, blocks=blocks, spread=spread)[Verdict.NO_DIFFERENCE] <= 10


def test_a_noisy_machine_is_inconclusive_and_a_quiet_one_shows_that_nothing_changed() -> None:
    assert verdicts(truth=1.0, blocks=6, spread=0.3)[Verdict.INCONCLUSIVE] >= 180
    assert verdicts(truth=1.0, blocks=6)[Verdict.NO_DIFFERENCE] >= 150


@pytest.mark.parametrize("blocks", [3, 6, 12])
def test_nothing_against_itself_is_called_a_difference_in_at_most_a_twentieth(blocks: int) -> None:
    found = verdicts(truth=1.0, blocks=blocks)
    assert found[Verdict.FASTER] + found[Verdict.SLOWER] <= 10


def test_a_planted_slow_down_of_three_percent_is_found() -> None:
    assert verdicts(truth=1 / 1.03, blocks=6)[Verdict.SLOWER] >= 190


@pytest.mark.parametrize("blocks", [3, 6, 12])
def test_the_interval_covers_the_truth(blocks: int) -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for seed in range(300):
        before, after = simulate(rng, truth=1.9, blocks=blocks)
        interval = estimate_speedup(np.log(before / after), seed)
        assert interval is not None
        covered += interval.low <= 1.9 <= interval.high
    assert covered >= 0.93 * 300


def test_a_drifting_machine_gives_no_false_verdict_interleaved_but_does_one_after_the_other() -> None:
    interleaved = verdicts(truth=1.0, blocks=6, drift=0.01)
    sequential = verdicts(truth=1.0, blocks=6, drift=0.01, interleaved=False)
    assert interleaved[Verdict.FASTER] + interleaved[Verdict.SLOWER] <= 10
    assert sequential[Verdict.SLOWER] >= 190


def test_a_drift_does_not_hide_a_planted_slow_down() -> None:
    assert verdicts(truth=1 / 1.03, blocks=6, drift=0.01)[Verdict.SLOWER] >= 190


def test_blocks_are_paired_by_their_index_and_failed_ones_left_out() -> None:
    baseline = [a_result("off", 0, 4.0), a_result("off", 1, 6.0), a_result("off", 2, latency_ns=())]
    candidate = [a_result("on", 1, 2.0), a_result("on", 0, 2.0), a_result("on", 2, 2.0)]
    assert np.exp(log_ratios(baseline, candidate)) == pytest.approx([2.0, 3.0])


def test_speed_up_is_baseline_time_over_candidate_time() -> None:
    interval = estimate_speedup(np.log([2.0, 2.0, 2.0]), 0)
    assert interval is not None
    assert interval.value == pytest.approx(2.0)
    unpaired = estimate_unpaired_speedup([4.0, 4.01, 3.99], [2.0, 2.01, 1.99], 0)
    assert unpaired is not None
    assert unpaired.low < 2.0 < unpaired.high


def test_two_pairs_are_too_few_for_any_claim() -> None:
    assert estimate_speedup(np.log([2.0, 2.0]), 0) is None
    verdict, reason = judge(None, None, 2, BOUND)
    assert verdict is Verdict.INCONCLUSIVE
    assert "too few" in reason


@pytest.mark.parametrize(
    ("interval", "floor", "verdict"),
    [
        (Interval(2.0, 1.9, 2.1), 0.01, Verdict.FASTER),
        (Interval(0.5, 0.45, 0.55), 0.01, Verdict.SLOWER),
        (Interval(1.02, 1.01, 1.03), 0.05, Verdict.INCONCLUSIVE),
        (Interval(1.015, 1.012, 1.018), 0.05, Verdict.NO_DIFFERENCE),
        (Interval(1.015, 1.012, 1.018), 0.01, Verdict.FASTER),
        (Interval(1.001, 0.99, 1.01), 0.005, Verdict.NO_DIFFERENCE),
        (Interval(1.001, 0.99, 1.01), 0.3, Verdict.NO_DIFFERENCE),
        (Interval(1.0, 0.9, 1.1), 0.3, Verdict.INCONCLUSIVE),
        (Interval(1.1, 0.9, 1.3), 0.01, Verdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_follows_from_interval_and_noise(interval: Interval, floor: float, verdict: Verdict) -> None:
    assert judge(interval, floor, 6, BOUND)[0] is verdict


def test_the_bound_is_the_users_and_the_reason_names_it() -> None:
    interval = Interval(1.0, 0.96, 1.04)
    assert judge(interval, 0.01, 6, 0.05) == (Verdict.NO_DIFFERENCE, "the whole interval lies within 5.0 % of 1")
    verdict, reason = judge(interval, 0.01, 6, 0.03)
    assert verdict is Verdict.INCONCLUSIVE
    assert reason.startswith("the interval includes 1 and reaches beyond 3.0 %; about")


def test_an_inconclusive_verdict_says_how_many_more_blocks_would_decide() -> None:
    assert "about 18 more blocks per variant" in judge(Interval(1.1, 0.9, 1.3), 0.01, 6, BOUND)[1]
    # As many as it takes to show that the difference is smaller than the bound.
    assert "about 87 more blocks per variant" in judge(Interval(1.0, 0.925, 1.08), 0.01, 6, BOUND)[1]
    assert "no practical number of blocks" in judge(Interval(1.0001, 0.7, 1.4), 0.01, 6, BOUND)[1]


def test_the_rank_test_agrees_that_a_clear_difference_is_one() -> None:
    p_value = rank_test(np.log(np.full(10, 2.0)) + np.linspace(0, 0.01, 10))
    assert p_value is not None
    assert p_value < 0.01
    assert rank_test(np.zeros(10)) is None


def test_the_noise_floor_of_still_variants_is_nothing_and_grows_with_their_spread() -> None:
    assert measure_noise_floor([[5.0] * 6, [2.0] * 6], 0) == pytest.approx(0.0)
    small = measure_noise_floor([[5.0, 5.1, 4.9, 5.0, 5.1, 4.9]], 0)
    large = measure_noise_floor([[5.0, 6.0, 4.0, 5.0, 6.0, 4.0]], 0)
    assert small is not None
    assert large is not None
    assert 0 < small < large


def test_the_noise_floor_is_that_of_the_noisier_side() -> None:
    still, wild = [5.0] * 12, [5.0, 6.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0, 4.0]
    assert measure_noise_floor([still, wild], 0) == measure_noise_floor([wild], 0)
    assert measure_noise_floor([still, [5.0]], 0) == pytest.approx(0.0)
    assert measure_noise_floor([[5.0], []], 0) is None


def test_a_drift_counts_as_noise_where_nothing_cancels_it() -> None:
    drifting = [5.0 * 1.02**i for i in range(12)]
    side_by_side, apart = (measure_noise_floor([drifting], 0, interleaved=each) for each in (True, False))
    assert side_by_side == pytest.approx(0.0, abs=1e-9)
    assert apart is not None
    assert apart > 0.05
