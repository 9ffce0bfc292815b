"""A run's blocks are counted for whoever shows them."""

from dataclasses import replace

from builders import a_plan, a_result
from etprof.app.progress import RunCounter
from etprof.core.plan import Block

Told = list[tuple[int, int | None, str]]


def a_counter(done: int = 0) -> tuple[RunCounter, Told]:
    told: Told = []
    counter = RunCounter(lambda *each: told.append(each))
    counter.run_started(a_plan(blocks=2), done, times_are_real=True)
    return counter, told


def test_each_block_is_told_when_it_starts_and_when_it_ends() -> None:
    counter, told = a_counter()
    counter.block_started(Block(a_plan().experiment("on"), 1, 0))
    counter.block_ended(a_result("on"))
    assert told == [(0, 4, "on_t1, block 1"), (1, 4, "on_t1, block 1: finished")]


def test_a_resumed_run_counts_from_what_is_done() -> None:
    counter, told = a_counter(done=3)
    counter.block_ended(a_result("on", 1))
    assert told == [(4, 4, "on_t1, block 2: finished")]


def test_rounds_that_are_added_raise_the_total() -> None:
    counter, told = a_counter(done=4)
    counter.block_ended(a_result("on", 2))
    assert told[-1][:2] == (5, 5)


def test_blocks_of_a_variant_that_is_left_out_are_not_counted() -> None:
    counter, told = a_counter()
    counter.variant_left_out("off is not run again", 1)
    counter.told("a note")
    assert told == [(0, 3, "off is not run again"), (0, 3, "a note")]


def test_a_block_that_fails_or_is_tried_again_says_why() -> None:
    counter, told = a_counter()
    counter.block_retried(Block(a_plan().experiment("on"), 1, 0), "the machine was busy")
    counter.block_ended(replace(a_result("on"), error="exit code 3"))
    assert [text for _, _, text in told] == [
        "on_t1, block 1: the machine was busy; trying again",
        "on_t1, block 1: exit code 3",
    ]
