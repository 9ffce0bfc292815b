"""What an emulated run costs is said before it starts, with what makes it shorter."""

from dataclasses import replace

import pytest

from builders import a_plan
from etprof.app.emulation import describe_cost, estimate_block_s, estimate_s
from etprof.core.plan import TRACE, Experiment, Plan, Warmup

SMALL, LARGE = 2_000_000, 5_000_000_000


def a_kernel_plan(seconds: float = 2.0) -> Plan:
    sampling = ("--sample_ms", str(round(seconds * 1000)))
    experiments = tuple(Experiment(name, mode=TRACE, extra_args=sampling) for name in ("off", "on"))
    return replace(a_plan(blocks=2), experiments=experiments, pairs=())


def test_a_longer_model_costs_more_and_every_block_counts() -> None:
    plan = a_kernel_plan()
    assert estimate_s(plan, LARGE) > 10 * estimate_s(plan, SMALL)
    twice = replace(plan, schedule=replace(plan.schedule, blocks=4))
    assert estimate_s(twice, SMALL) == pytest.approx(2 * estimate_s(plan, SMALL))


def test_sampling_goes_on_for_the_seconds_asked_for() -> None:
    short, long = (estimate_s(a_kernel_plan(seconds), SMALL) for seconds in (2.0, 32.0))
    assert long - short == pytest.approx(4 * 30.0, rel=0.05)


def test_iterations_that_are_not_run_cost_nothing() -> None:
    once = Experiment("on", runs=1, traced_runs=1, warmup=Warmup(0, 0))
    fixed_s = 2 * estimate_block_s(once, LARGE) - estimate_block_s(once, 2 * LARGE)
    many = replace(once, runs=11)
    assert estimate_block_s(many, LARGE) - fixed_s == pytest.approx(6 * (estimate_block_s(once, LARGE) - fixed_s))


def test_a_short_run_is_announced_and_a_long_one_advised_about() -> None:
    said = describe_cost(a_kernel_plan(), SMALL)
    assert said.startswith("Emulation takes roughly ")
    assert said.endswith("4 blocks, 2.00 M multiply-accumulates per inference.")
    assert describe_cost(a_kernel_plan(60.0), SMALL).endswith("Fewer --seconds or --blocks shorten it.")
    assert "A smaller input size of the model" in describe_cost(a_kernel_plan(), LARGE)


def test_without_a_graph_the_cost_is_unknown_and_said_so() -> None:
    assert "Export it with etprof" in describe_cost(a_kernel_plan(), None)
