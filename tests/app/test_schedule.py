"""The order of blocks and the reasons to stop."""

from dataclasses import replace

from builders import a_plan
from etprof.app.schedule import build_round, build_rounds, reason_to_stop
from etprof.core.plan import SEQUENTIAL
from etprof.core.report import Interval

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
    assert reason_to_stop(plan, 2, [NARROW], 1.0) == ""
    assert "narrower" in reason_to_stop(plan, 3, [NARROW], 1.0)
    assert reason_to_stop(plan, 3, [NARROW, WIDE], 1.0) == ""
    assert reason_to_stop(plan, 3, [None], 1.0) == ""
    assert "all 9 planned" in reason_to_stop(plan, 9, [WIDE], 1.0)
    assert "time budget" in reason_to_stop(plan, 3, [WIDE], 90.0)
    assert reason_to_stop(plan, 2, [WIDE], 90.0) == "", "two rounds give no interval"


def test_without_a_pair_no_round_is_added() -> None:
    assert "no pair" in reason_to_stop(a_plan(blocks=3, max_blocks=9), 3, [], 1.0)
