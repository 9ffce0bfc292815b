"""Variants and comparisons that follow from a plan."""

from dataclasses import replace

import pytest

from builders import a_plan
from etprof.core.plan import Block, Experiment, Pair, Variant


def test_a_variant_has_a_label_for_readers_and_a_stem_for_files() -> None:
    assert [Variant("on", threads).label for threads in (1, 2)] == ["on, 1 thread", "on, 2 threads"]
    assert Variant("on", 2).stem == "on_t2"


def test_variants_are_equal_by_value_and_sort_by_name_then_threads() -> None:
    assert {Variant("on", 1), Variant("on", 1)} == {Variant("on", 1)}
    variants = [Variant("on", 4), Variant("off", 10), Variant("on", 1), Variant("off", 2)]
    assert sorted(variants) == [Variant("off", 2), Variant("off", 10), Variant("on", 1), Variant("on", 4)]


def test_a_plan_has_every_experiment_at_each_of_its_thread_counts() -> None:
    plan = replace(a_plan(), experiments=(Experiment("off", threads=(1, 4)), Experiment("on", threads=(4,))))
    assert plan.variants == (Variant("off", 1), Variant("off", 4), Variant("on", 4))


def test_pairs_are_compared_at_the_thread_counts_that_both_sides_have() -> None:
    experiments = (
        Experiment("off", threads=(4, 1, 2)),
        Experiment("on", threads=(1, 4, 8)),
        Experiment("other", threads=(2,)),
    )
    pairs = (Pair("off", "on"), Pair("other", "on"), Pair("off", "other"))
    plan = replace(a_plan(), experiments=experiments, pairs=pairs)
    assert plan.compared == (
        (Variant("off", 4), Variant("on", 4)),
        (Variant("off", 1), Variant("on", 1)),
        (Variant("off", 2), Variant("other", 2)),
    )


def test_sides_with_one_thread_count_each_are_compared_and_a_pair_may_name_them() -> None:
    experiments = (Experiment("one", threads=(1,)), Experiment("two", threads=(2,)), Experiment("both", threads=(1, 2)))
    pairs = (Pair("one", "two"), Pair("both", "both", 1, 2), Pair("both", "two", baseline_threads=1))
    plan = replace(a_plan(), experiments=experiments, pairs=pairs)
    assert plan.compared == (
        (Variant("one", 1), Variant("two", 2)),
        (Variant("both", 1), Variant("both", 2)),
        (Variant("both", 1), Variant("two", 2)),
    )


def test_an_experiment_is_found_by_its_name() -> None:
    assert a_plan().experiment("off").hide_isa == ("avx512",)
    with pytest.raises(KeyError):
        a_plan().experiment("none")


def test_a_block_knows_its_variant_and_counts_from_one_for_readers() -> None:
    block = Block(Experiment("on"), 2, 0)
    assert block.variant == Variant("on", 2)
    assert block.name == "on_t2, block 1"
