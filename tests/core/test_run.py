"""Results of blocks: what the runner said and what is known besides, and the successful ones of a session."""

from builders import a_result, a_session
from etprof.core.plan import Block, Experiment, Variant
from etprof.core.run import STOCK_RUNNER, BlockResult, RunnerResult


def test_a_blocks_result_holds_what_the_runner_said_and_what_the_caller_knows() -> None:
    said = RunnerResult(runner="native", latency_ns=(1, 2), threads_in_force=2, features_hidden=("sme",), load_ns=7)
    result = BlockResult.of(Block(Experiment("on"), 2, 3), said, etdump="on/x.etdump", duration_s=1.5)
    assert (result.variant, result.name) == (Variant("on", 2), "on_t2, block 4")
    assert (result.latency_ns, result.threads_in_force, result.features_hidden, result.load_ns) == (
        (1, 2),
        2,
        ("sme",),
        7,
    )
    assert (result.etdump, result.duration_s, result.samples) == ("on/x.etdump", 1.5, "")


def test_a_result_with_an_error_is_not_ok() -> None:
    assert RunnerResult().is_ok
    assert not RunnerResult(error="crashed").is_ok


def test_a_stock_runner_is_known_by_its_name() -> None:
    assert RunnerResult(runner=STOCK_RUNNER).is_stock
    assert not RunnerResult(runner="native").is_stock


def test_successful_blocks_of_a_variant_are_in_order_and_without_failures_and_other_variants() -> None:
    blocks = [a_result("on", 0), a_result("off", 0), a_result("on", 1, error="crashed"), a_result("on", 2)]
    blocks.append(a_result("on", 3, threads=2))
    session = a_session(results=tuple(blocks))
    assert [result.index for result in session.successful(Variant("on", 1))] == [0, 2]
    assert [result.index for result in session.successful(Variant("on", 2))] == [3]
    assert session.successful(Variant("none", 1)) == ()
