"""The order of blocks and the reasons to stop."""

from dataclasses import replace

from builders import a_plan
from etprof.app.schedule import build_round, build_rounds, expect_rounds, list_blocks_left, reason_to_stop
from etprof.core.estimates import Interval
from etprof.core.plan import SEQUENTIAL

NARROW, WIDE = Interval(2.0, 1.99, 2.01), Interval(2.0, 1.5, 2.5)


def test_rounds_turn_round_so_that_neighbours_alternate() -> None:
    keys = [block.variant.stem for blocks in build_rounds(a_plan(blocks=4)) for block in blocks]
    assert keys == ["off_t1", "on_t1", "on_t1", "off_t1", "off_t1", "on_t1", "on_t1", "off_t1"]


def test_thread_counts_are_variants_of_their_own() -> None:
    plan = a_plan()
    plan = replace(plan, experiments=tuple(replace(e, threads=(1, 4)) for e in plan.experiments))
    assert [b.variant.stem for b in build_round(plan, 0)] == ["off_t1", "off_t4", "on_t1", "on_t4"]


def test_a_sequential_plan_runs_each_variant_by_itself() -> None:
    (blocks,) = build_rounds(a_plan(blocks=2, order=SEQUENTIAL))
    assert [(b.variant.stem, b.index) for b in blocks] == [("off_t1", 0), ("off_t1", 1), ("on_t1", 0), ("on_t1", 1)]


def test_it_stops_when_narrow_enough_or_at_the_last_round_or_out_of_time() -> None:
    plan = a_plan(blocks=3, max_blocks=9, time_budget_s=100.0)
    assert reason_to_stop(plan, 2, [NARROW], fits=True) == ""
    assert "narrower" in reason_to_stop(plan, 3, [NARROW], fits=True)
    assert reason_to_stop(plan, 3, [NARROW, WIDE], fits=True) == ""
    assert reason_to_stop(plan, 3, [None], fits=True) == ""
    assert "all 9 planned" in reason_to_stop(plan, 9, [WIDE], fits=True)
    assert reason_to_stop(plan, 3, [WIDE], fits=False) == "the time budget of 100 s is spent"
    assert reason_to_stop(plan, 2, [WIDE], fits=False) == "", "two rounds give no interval"


def test_without_a_pair_no_round_is_added() -> None:
    assert "no pair" in reason_to_stop(a_plan(blocks=3, max_blocks=9), 3, [], fits=True)


def test_the_number_of_rounds_is_expected_from_the_width_of_the_intervals() -> None:
    plan = a_plan(blocks=6, max_blocks=24, target_precision=0.02)
    twice_as_wide = Interval(1.0, 0.961, 1.039)
    assert expect_rounds(plan, 0, [None]) == 6
    assert expect_rounds(plan, 4, [Interval(1.0, 0.99, 1.01)]) == 6
    assert expect_rounds(plan, 5, [twice_as_wide, None]) == 20
    assert expect_rounds(plan, 9, [twice_as_wide]) == 24


def test_blocks_that_are_missing_are_counted_for_each_variant_that_is_still_run() -> None:
    off, on = a_plan().variants
    assert list_blocks_left(a_plan(), 3, [off, on, on], ()) == [off, off, on]
    assert list_blocks_left(a_plan(), 3, [off, on, on, on, on], (off,)) == []
