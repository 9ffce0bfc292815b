"""A run against a known-good one: the rule itself, and everything else that makes a run fail or leaves it undecided."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_loaded_run, a_plan, a_session, an_export_meta, paired_results, with_plan, with_program
from etprof.analysis.regression import CheckedRun, check_regression, judge_slowdown
from etprof.analysis.report import build_report
from etprof.core.errors import UsageError
from etprof.core.estimates import Interval
from etprof.core.findings import FindingKind
from etprof.core.loaded_run import Outputs
from etprof.core.plan import TRACE
from etprof.core.regression import Outcome, RegressionCheck
from etprof.core.run import OutputTensor, Session

OFF = [4.0, 4.02, 3.98, 4.0, 4.01, 3.99]
ON = [2.0, 2.01, 1.99, 2.0, 2.01, 1.99]
KNOWN_GOOD = a_session(a_plan(blocks=6), paired_results(OFF, ON))
ORDER = [Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS]

ratios = st.floats(0.2, 5.0)
tolerances = st.floats(0.0, 2.0)


def check(
    run: Session, known_good: Session = KNOWN_GOOD, *, tolerance: float = 0.05, within: float | None = None,
    memory_tolerance: float | None = None, **outputs: Any,
) -> RegressionCheck:  # fmt: skip
    return check_regression(
        labelled("known good", known_good, outputs.get("before")),
        labelled("new", run, outputs.get("after")),
        tolerance,
        within,
        memory_tolerance,
    )


def labelled(label: str, session: Session, outputs: Mapping[str, Outputs] | None) -> CheckedRun:
    run = a_loaded_run(session, outputs=outputs)
    return CheckedRun(label, run, build_report(run, title="t", created_at="now"))


def slower(factor: float, *, off: float = 1.0) -> Session:
    return replace(KNOWN_GOOD, results=paired_results([t * off for t in OFF], [t * factor for t in ON]))


def an_interval(bounds: list[float]) -> Interval:
    low, value, high = sorted(bounds)
    return Interval(value, low, high)


@given(st.lists(ratios, min_size=3, max_size=3), tolerances)
def test_a_pass_lies_within_the_tolerance_a_failure_beyond_it_and_the_rest_around_it(
    bounds: list[float], tolerance: float
) -> None:
    variant = judge_slowdown(an_interval(bounds), None, tolerance, 6)
    assert variant.slowdown is not None
    assert variant.slowdown.low <= variant.slowdown.value <= variant.slowdown.high
    assert (variant.outcome is Outcome.PASS) == (variant.slowdown.high <= tolerance)
    assert (variant.outcome is Outcome.FAIL) == (variant.slowdown.low > tolerance)


@given(st.lists(ratios, min_size=3, max_size=3), tolerances, tolerances, st.none() | st.floats(0.0, 1.0))
def test_more_tolerance_never_makes_a_verdict_worse(
    bounds: list[float], one: float, other: float, noise_floor: float | None
) -> None:
    strict, lenient = (
        judge_slowdown(an_interval(bounds), noise_floor, tolerance, 6).outcome for tolerance in sorted((one, other))
    )
    assert ORDER.index(strict) <= ORDER.index(lenient)


@given(st.lists(ratios, min_size=3, max_size=3), tolerances, st.floats(0.0, 5.0))
def test_the_noise_of_the_machine_can_undo_a_failure_but_never_make_a_pass(
    bounds: list[float], tolerance: float, noise_floor: float
) -> None:
    quiet = judge_slowdown(an_interval(bounds), None, tolerance, 6).outcome
    noisy = judge_slowdown(an_interval(bounds), noise_floor, tolerance, 6).outcome
    assert noisy is quiet or (quiet, noisy) == (Outcome.FAIL, Outcome.INCONCLUSIVE)


def test_a_slow_down_no_larger_than_the_noise_of_the_machine_is_no_failure() -> None:
    interval = Interval(1 / 1.10, 1 / 1.12, 1 / 1.08)
    assert judge_slowdown(interval, 0.09, 0.05, 6).outcome is Outcome.FAIL
    within = judge_slowdown(interval, 0.11, 0.05, 6)
    assert within.outcome is Outcome.INCONCLUSIVE
    assert within.reason == "beyond the tolerance, but within the noise floor"


def test_a_slow_down_of_exactly_the_tolerance_is_seldom_decided() -> None:
    """Both kinds of wrong certainty together happen in about one of twenty runs."""
    rng = np.random.default_rng(1)
    outcomes = []
    for _ in range(200):
        before, after = rng.lognormal(0.0, 0.03, (2, 8))
        known_good = replace(KNOWN_GOOD, results=paired_results(list(before), list(before)))
        run = replace(KNOWN_GOOD, results=paired_results(list(after * 1.05), list(before)))
        outcomes.append(check(run, known_good).variants[0].outcome)
    assert sum(outcome is not Outcome.INCONCLUSIVE for outcome in outcomes) <= 20


def test_the_same_again_passes() -> None:
    same = check(slower(1.0))
    assert same.outcome is Outcome.PASS
    assert [variant.label for variant in same.variants] == ["off, 1 thread", "on, 1 thread"]
    assert same.variants[0].medians_ms == pytest.approx((4.0, 4.0), rel=0.01)
    assert same.variants[0].load_ms == (0.7, 0.7)
    assert same.variants[0].peak_bytes == (1 << 20, 1 << 20)


def test_one_slower_variant_fails_the_run_and_is_named() -> None:
    result = check(slower(1.2))
    assert result.outcome is Outcome.FAIL
    fine, slow = result.variants
    assert (fine.outcome, slow.outcome) == (Outcome.PASS, Outcome.FAIL)
    assert slow.slowdown is not None
    assert slow.slowdown.value == pytest.approx(0.2, rel=0.02)
    assert check(slower(1.2), tolerance=0.3).outcome is Outcome.PASS
    assert check(slower(0.5)).outcome is Outcome.PASS


def test_between_both_it_is_inconclusive_and_says_how_many_blocks_would_tell() -> None:
    noisy = replace(KNOWN_GOOD, results=paired_results(OFF, [1.9, 2.2, 2.0, 1.85, 2.15, 2.0]))
    variant = check(noisy).variants[1]
    assert variant.outcome is Outcome.INCONCLUSIVE
    assert "includes the tolerance" in variant.reason
    assert "more blocks per variant would decide it" in variant.reason


def test_two_blocks_are_too_few_for_any_verdict() -> None:
    result = check(replace(KNOWN_GOOD, results=paired_results([9.0, 9.0], [9.0, 9.0])))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "too few" in result.variants[0].reason


def test_a_failed_block_fails_the_run_and_quotes_its_first_line() -> None:
    first, *others = slower(1.0).results
    result = check(replace(KNOWN_GOOD, results=(replace(first, error="it broke\n | log"), *others)))
    assert result.outcome is Outcome.FAIL
    assert result.failures == ("1 of 6 blocks of off_t1 failed, block 1 with: it broke",)


def test_a_variant_that_is_gone_fails_the_run() -> None:
    result = check(replace(KNOWN_GOOD, results=tuple(r for r in KNOWN_GOOD.results if r.experiment == "on")))
    assert result.outcome is Outcome.FAIL
    assert result.failures == ("off, 1 thread is missing in new.",)


def test_a_run_in_which_everything_failed_is_a_failure_and_not_a_refusal() -> None:
    result = check(replace(KNOWN_GOOD, results=tuple(replace(r, error="no") for r in KNOWN_GOOD.results)))
    assert result.outcome is Outcome.FAIL
    assert len(result.failures) == 2


def test_runs_of_other_plans_are_refused() -> None:
    plan = replace(KNOWN_GOOD.plan, experiments=(replace(KNOWN_GOOD.plan.experiments[0], name="other"),), pairs=())
    with pytest.raises(UsageError, match="no variant of the same name"):
        check(with_plan(KNOWN_GOOD, plan, results=()))


def test_an_emulated_run_gets_no_verdict_on_its_speed() -> None:
    emulated = replace(slower(9.0), device=replace(KNOWN_GOOD.device, times_are_real=False))
    for result in (check(emulated), check(KNOWN_GOOD, emulated)):
        assert result.outcome is Outcome.INCONCLUSIVE
        assert all("emulated" in variant.reason and variant.slowdown is None for variant in result.variants)
        assert len(result.variants) == 2


def test_another_cpu_gets_no_verdict_and_another_model_a_finding() -> None:
    other = replace(slower(1.0), device=replace(KNOWN_GOOD.device, cpu_model="B CPU"))
    assert check(other).outcome is Outcome.INCONCLUSIVE
    assert "B CPU" in check(other).variants[0].reason
    changed = check(with_program(replace(slower(1.0), versions={"etprof": "9"}), model_sha256="f" * 64))
    assert changed.outcome is Outcome.PASS
    messages = " ".join(finding.message for finding in changed.findings)
    assert "model file" in messages
    assert "version of etprof" in messages


def test_an_interrupted_run_does_not_pass() -> None:
    result = check(replace(slower(1.0), stop_reason=""))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "--resume" in result.doubts[0]


def test_variants_that_only_trace_must_be_there_and_are_not_timed() -> None:
    plan = replace(KNOWN_GOOD.plan, experiments=tuple(replace(e, mode=TRACE) for e in KNOWN_GOOD.plan.experiments))
    traced = replace(KNOWN_GOOD, plan=plan, results=tuple(replace(r, latency_ns=()) for r in KNOWN_GOOD.results))
    assert check(traced, traced).doubts == ("No variant was timed in both runs.",)
    assert "not timed in new" in check(traced).variants[0].reason
    assert check(traced).outcome is Outcome.INCONCLUSIVE


def with_outputs(digest: str, **changes: Any) -> Session:
    tensor = OutputTensor("float32", (2,), digest, "out.bin")
    results = tuple(replace(r, outputs=(tensor,)) for r in KNOWN_GOOD.results)
    return with_program(replace(KNOWN_GOOD, results=results), **changes)


def values(second: float) -> dict[str, Outputs]:
    return {name: (np.array([1.0, second]),) for name in ("off", "on")}


def test_other_outputs_fail_the_run_however_fast_it_is() -> None:
    before, after = with_outputs("a"), with_outputs("b")
    same = check(after, before, before=values(0.5), after=values(0.5001))
    assert same.outcome is Outcome.PASS
    assert same.variants[0].output_difference == pytest.approx(1e-4)
    other = check(after, before, before=values(0.5), after=values(0.7))
    assert other.outcome is Outcome.FAIL
    assert "0.2 of the largest value" in other.failures[0]


def test_the_output_tolerance_is_that_of_the_precision_or_the_users() -> None:
    before, after = with_outputs("a"), with_outputs("b")
    assert check(after, before, before=values(0.5), after=values(0.5)).output_tolerance == 1e-3
    stated = check(after, before, before=values(0.5), after=values(0.7), within=0.3)
    assert (stated.outcome, stated.output_tolerance) == (Outcome.PASS, 0.3)
    assert check(after, before, before=values(0.5), after=values(0.5001), within=1e-6).outcome is Outcome.FAIL


def test_another_precision_is_another_model_unless_its_outputs_tolerance_is_stated() -> None:
    before, after = (
        with_outputs(precision, export_meta=an_export_meta(precision=precision)) for precision in ("fp32", "q8")
    )
    changed = check(after, before, before=values(0.5), after=values(0.55))
    assert changed.outcome is Outcome.FAIL
    assert changed.output_tolerance == 1e-3, "of the more precise side"
    assert "precision changed from fp32 to q8: this is another model" in changed.failures[0]
    assert "0.05 of the largest value" in changed.failures[1]
    assert check(after, before, before=values(0.5), after=values(0.55), within=0.1).outcome is Outcome.PASS


def test_equal_digests_need_no_files_and_unequal_ones_without_files_leave_a_doubt() -> None:
    assert check(with_outputs("a"), with_outputs("a")).variants[0].output_difference == 0.0
    unknown = check(with_outputs("b"), with_outputs("a"))
    assert unknown.outcome is Outcome.INCONCLUSIVE
    assert "not bit-identical" in unknown.doubts[0]


def test_outputs_of_other_inputs_are_not_compared() -> None:
    result = check(with_outputs("b", inputs_sha256=("2" * 64,)), with_outputs("a"), before=values(0), after=values(9))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.failures == ()
    assert "inputs" in result.doubts[0]


def test_variants_of_the_run_that_disagree_with_each_other_fail_it() -> None:
    outputs = {"off": (np.array([1.0]),), "on": (np.array([2.0]),)}
    assert check(KNOWN_GOOD, after=outputs).outcome is Outcome.FAIL
    assert check(KNOWN_GOOD, after=outputs, within=1.0).outcome is Outcome.PASS


def test_a_finding_of_the_run_is_reported_once() -> None:
    """What fails the run, or leaves it undecided, is not told again among the findings."""
    interrupted = check(replace(slower(1.0), stop_reason="", notes=("The Python runner was used.",)))
    kinds = [finding.kind for finding in interrupted.findings]
    assert FindingKind.NOTE in kinds
    assert FindingKind.INCOMPLETE not in kinds


def test_traces_that_were_not_kept_are_said_to_be_missing() -> None:
    messages = [f.message for f in check(slower(1.0)).findings if f.kind is FindingKind.NO_TRACES]
    assert messages == [
        "The traces of known good are missing, so categories are not compared.",
        "The traces of new are missing, so categories are not compared.",
    ]


def test_another_runner_and_other_hidden_features_are_findings() -> None:
    other = replace(
        slower(1.0), results=tuple(replace(r, runner="python", features_hidden=("avx2",)) for r in slower(1.0).results)
    )
    messages = [f.message for f in check(other).findings if f.kind is FindingKind.RUNS_DIFFER]
    assert "on, 1 thread: the runner differs: native, python." in messages
    assert "on, 1 thread: the list of hidden features differs: none, avx2." in messages


def holding(mib: float, *, spread: float = 0.0) -> Session:
    """The known-good run with so much memory at the peak, a little more in every second block."""
    results = tuple(
        replace(r, peak_bytes=round(mib * (1 + spread * (r.index % 2)) * 2**20)) for r in KNOWN_GOOD.results
    )
    return replace(KNOWN_GOOD, results=results)


@pytest.mark.parametrize(
    ("mib", "spread", "expected"),
    [
        (100.0, 0.001, Outcome.PASS), (101.0, 0.0, Outcome.PASS), (110.0, 0.001, Outcome.FAIL),
        (101.0, 0.05, Outcome.INCONCLUSIVE),
    ],
)  # fmt: skip
def test_memory_is_judged_by_its_interval_over_blocks(mib: float, spread: float, expected: Outcome) -> None:
    judged = check(holding(mib, spread=spread), holding(100.0), memory_tolerance=0.03)
    assert {variant.memory.outcome for variant in judged.variants if variant.memory} == {expected}
    assert judged.outcome is expected


def test_memory_is_not_judged_unless_asked_and_less_is_never_wrong() -> None:
    assert check(holding(200.0), holding(100.0)).outcome is Outcome.PASS
    assert check(holding(50.0), holding(100.0), memory_tolerance=0.0).outcome is Outcome.PASS


def test_memory_of_two_runners_or_of_none_is_inconclusive() -> None:
    python = replace(KNOWN_GOOD, results=tuple(replace(r, runner="python") for r in holding(100.0).results))
    unknown = replace(KNOWN_GOOD, results=tuple(replace(r, peak_bytes=None) for r in KNOWN_GOOD.results))
    for run, why in ((python, "different runners, native and python"), (unknown, "not known in both")):
        judged = check(run, holding(100.0), memory_tolerance=0.05)
        assert judged.outcome is Outcome.INCONCLUSIVE
        assert all(why in variant.memory.reason for variant in judged.variants if variant.memory)


def test_memory_of_an_emulated_run_is_inconclusive() -> None:
    emulated = replace(holding(100.0), device=replace(KNOWN_GOOD.device, times_are_real=False))
    (first, *_) = check(emulated, holding(100.0), memory_tolerance=0.05).variants
    assert first.memory is not None
    assert first.memory.outcome is Outcome.INCONCLUSIVE
