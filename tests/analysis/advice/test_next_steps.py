"""Next steps: bounded by what was measured, ranked by it, for the variant that is to be improved."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_plan
from etprof.analysis.advice.next_steps import find_next_steps
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.report import CancellingPair, VariantReport
from report_builder import FIRST, SECOND, a_report, one_variant, untraced, with_roofline

OFF, ON = Variant("off", 1), Variant("on", 1)


def test_steps_are_about_the_candidate_and_the_largest_bound_comes_first(tmp_path: Path) -> None:
    steps = a_report(tmp_path).next_steps
    assert {step.variant for step in steps} == {ON}
    assert [step.saves_ms for step in steps] == sorted((step.saves_ms for step in steps), reverse=True)


def test_the_bound_of_the_transposes_is_their_time(tmp_path: Path) -> None:
    """One stands where the second partition begins and has a rule of its own."""
    report = a_report(tmp_path)
    steps = {step.rule: step for step in report.next_steps}
    assert steps["transposes"].title == "Remove the other transposes"
    rows = {row.identity: row for row in report.variants[1].operators if row.subcategory == "transpose"}
    assert set(rows) == {"d0.1", "d1.0"}
    for rule, row in (("transposes", rows[OperatorId("d0.1")]), ("border-layout-changes", rows[OperatorId("d1.0")])):
        assert steps[rule].saves_ms == pytest.approx(row.mean_ms)
        assert steps[rule].share == pytest.approx(row.share)


def test_a_portable_operator_counts_in_one_step_only(tmp_path: Path) -> None:
    titles = [step.title for step in a_report(tmp_path).next_steps if "native_call" in step.reason]
    assert titles == ["Delegate the portable operator"]


def test_no_step_claims_more_than_the_whole_inference(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    whole = sum(row.mean_ms for row in report.variants[1].categories)
    assert len(report.next_steps) == 5
    assert all(0 < step.saves_ms <= whole and 0.01 <= step.share <= 1 for step in report.next_steps)


def test_the_longest_operator_is_named_with_its_module(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    variant = report.variants[1]
    rows = tuple(replace(row, module_path="stem.conv") for row in variant.operators)
    steps = find_next_steps([report.variants[0], replace(variant, operators=rows)], report.comparisons)
    (step,) = [step for step in steps if step.title == "Shrink or quantise Convolution (NHWC, F32) IGEMM #1"]
    longest = max(rows, key=lambda row: row.mean_ms)
    assert (step.saves_ms, step.share) == (longest.mean_ms, longest.share)
    assert step.reason.startswith("The longest operator in stem.conv: ")


def test_overheads_are_steps_of_their_own(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    rows = tuple(replace(r, mean_ms=0.4, share=0.2) if "overhead" in r.name else r for r in variant.categories)
    steps = {step.title: step for step in find_next_steps([replace(variant, categories=rows)], ())}
    assert steps["Cut the delegate overhead"].advice.endswith("Delegate calls per inference: 2.")
    assert steps["Cut the framework overhead"].saves_ms == 0.4


def test_what_would_gain_less_than_a_hundredth_is_no_step(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    (step,) = [step for step in report.next_steps if step.title == "Reduce elementwise operators"]
    assert step.share > 0.01
    variant = report.variants[1]
    rows = tuple(replace(row, share=0.009) if row.name == "Add (ND) #1" else row for row in variant.operators)
    steps = find_next_steps([replace(variant, operators=rows)], ())
    assert "Reduce elementwise operators" not in {step.title for step in steps}


def test_without_a_pair_a_single_variant_is_to_be_improved(tmp_path: Path) -> None:
    assert {step.variant for step in one_variant(tmp_path).next_steps} == {OFF}


def test_without_a_pair_no_step_is_told_for_the_variant_that_hides_features_nor_for_a_sampled_twin(
    tmp_path: Path,
) -> None:
    off, on = a_report(tmp_path).variants
    variants = [replace(off, features_hidden=("avx512f",)), on, replace(on, experiment="on_kernels", latency=None)]
    assert {step.variant for step in find_next_steps(variants, ())} == {ON}
    # Where nothing was timed, what was sampled has to do; two thread counts are two variants.
    untimed = [replace(variant, latency=None) for variant in (variants[0], on, replace(on, threads=4))]
    steps = find_next_steps(untimed, ())
    assert {step.variant for step in steps} == {ON, Variant("on", 4)}


def test_without_a_trace_there_is_no_step(tmp_path: Path) -> None:
    assert untraced(tmp_path).next_steps == ()


def test_compute_that_was_left_behind_is_named(tmp_path: Path) -> None:
    report = a_report(tmp_path, first=(*FIRST, ("Convolution (NHWC, F32) DWConv #1", 500)))
    (step,) = [step for step in report.next_steps if "gained little" in step.title]
    assert "DWConv" in step.reason
    assert step.is_bound is False
    # Its own time, less what the same gain would leave of it.
    compute = [change for change in report.comparisons[0].operators if change.category in ("Convolution", "GEMM")]
    before, after = (sum(getattr(c, side) for c in compute) for side in ("baseline_ms", "candidate_ms"))
    (behind,) = [change for change in compute if "DWConv" in change.name]
    assert behind.candidate_ms is not None
    assert step.saves_ms == pytest.approx(behind.candidate_ms * (1 - after / before))


def test_what_was_left_behind_saves_no_more_than_lies_above_the_roofline(tmp_path: Path) -> None:
    report = a_report(tmp_path, first=(*FIRST, ("Convolution (NHWC, F32) DWConv #1", 500)))
    (behind,) = [change for change in report.comparisons[0].operators if "DWConv" in change.name]
    assert behind.candidate_ms is not None
    roofline = with_roofline(tmp_path).variants[1].roofline
    assert roofline is not None
    row = replace(roofline.rows[0], identity=behind.identity, floor_ms=0.5 * behind.candidate_ms)
    bounded = replace(report.variants[1], roofline=replace(roofline, rows=(row,)))
    steps = find_next_steps([report.variants[0], bounded], report.comparisons)
    (step,) = [step for step in steps if "gained little" in step.title]
    assert step.saves_ms == pytest.approx(0.5 * behind.candidate_ms)


def test_nobody_is_left_behind_where_nothing_gained(tmp_path: Path) -> None:
    report = a_report(tmp_path, first=(*FIRST, ("Convolution (NHWC, F32) DWConv #1", 500)))
    (comparison,) = report.comparisons

    def titles(gain: float) -> list[str]:
        """Of the steps, had every operator but the depthwise one become faster by this factor."""
        changes = tuple(
            replace(c, candidate_ms=(c.baseline_ms or 0) / (1 if "DWConv" in c.name else gain))
            for c in comparison.operators
        )
        steps = find_next_steps(report.variants, [replace(comparison, operators=changes)])
        return [step.title for step in steps if "gained little" in step.title]

    assert titles(4.0) == ["Find out why one compute operator gained little"]
    assert titles(1.15) == []
    assert titles(1.0) == []


def test_every_step_but_the_estimate_is_the_time_of_what_would_be_removed(tmp_path: Path) -> None:
    report = a_report(tmp_path, first=(*FIRST, ("Convolution (NHWC, F32) DWConv #1", 500)))
    assert {step.title for step in report.next_steps if not step.is_bound} == {
        "Find out why one compute operator gained little"
    }


def test_delegating_is_bounded_by_the_operator_and_what_it_causes(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    (step,) = [step for step in report.next_steps if step.title == "Delegate the portable operator"]
    variant = report.variants[1]
    (portable,) = [row for row in variant.operators if not row.delegated]
    overheads = sum(row.mean_ms for row in variant.categories if "overhead" in row.name)
    (entry,) = [row for row in variant.operators if row.identity == "d1.0"]
    assert entry.name == SECOND[0][0]
    assert step.saves_ms == pytest.approx(portable.mean_ms + overheads + entry.mean_ms)


def gained(tmp_path: Path, speedup: float, *, noise: float = 0.0, spread: float = 0.0) -> list[str]:
    """What is said of a depthwise convolution that gained this much while the others became 4 times as fast."""
    report = a_report(tmp_path, first=(*FIRST, ("Convolution (NHWC, F32) DWConv #1", 500)))
    (comparison,) = report.comparisons
    before, after = report.variants
    changes = tuple(
        replace(c, candidate_ms=(c.baseline_ms or 0) / (speedup if "DWConv" in c.name else 4.0))
        for c in comparison.operators
    )
    times = {c.candidate_identity: c.candidate_ms or 0.0 for c in changes}
    rows = tuple(
        replace(
            row,
            mean_ms=times[row.identity],
            count=4,
            samples_ms=tuple(times[row.identity] * f for f in _spread(spread)),
        )
        for row in after.operators
    )
    noisy = replace(comparison, operators=changes, noise_floor=noise)
    steps = find_next_steps([before, replace(after, operators=rows)], [noisy])
    return [step.reason for step in steps if "gained little" in step.title]


def _spread(share: float) -> tuple[float, ...]:
    return (1 - share, 1 + share, 1 - share, 1 + share)


def test_an_operator_that_gained_a_little_is_told_with_how_much(tmp_path: Path) -> None:
    (reason,) = gained(tmp_path, 1.09)
    assert "DWConv #1 with 1.09x" in reason
    assert "this one 1.09x" in reason


def test_what_gained_more_or_may_have_gained_more_is_not_called_left_behind(tmp_path: Path) -> None:
    assert gained(tmp_path, 1.2) == []
    assert len(gained(tmp_path, 1.0, noise=0.05, spread=0.02)) == 1
    assert gained(tmp_path, 1.0, noise=2.0) == []
    assert gained(tmp_path, 1.0, spread=0.9) == []


def test_one_partition_cannot_become_fewer(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    rows = tuple(replace(r, mean_ms=0.4, share=0.2) if "overhead" in r.name else r for r in variant.categories)
    one_call = tuple(row for row in variant.operators if row.delegated and row.identity.call == 0)
    steps = find_next_steps([replace(variant, categories=rows, operators=one_call)], ())
    assert not [step for step in steps if "partitions" in step.advice or "overhead" in step.title]


def test_overhead_that_the_tracer_adds_is_no_step(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    assert variant.latency is not None
    rows = tuple(replace(r, mean_ms=0.4, share=0.2) if "overhead" in r.name else r for r in variant.categories)

    def overheads(cost: float) -> int:
        assert variant.latency is not None
        latency = replace(variant.latency, tracer_cost=cost)
        steps = find_next_steps([replace(variant, categories=rows, latency=latency)], ())
        return len([step for step in steps if "overhead" in step.title])

    assert overheads(0.0) == 2
    assert overheads(0.5) == 0


def test_no_step_is_smaller_than_the_noise_of_the_variant(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    whole = sum(row.mean_ms for row in variant.categories)
    noisy = replace(variant, noise_floor=0.25)
    steps = find_next_steps([noisy], ())
    assert steps
    assert all(step.saves_ms >= 0.25 * whole for step in steps)
    assert len(steps) < len(find_next_steps([variant], ()))


def test_no_step_is_told_of_times_the_clock_cannot_resolve(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    tiny = tuple(replace(row, mean_ms=row.mean_ms / 1000, samples_ms=()) for row in variant.operators)
    categories = tuple(replace(row, mean_ms=row.mean_ms / 1000) for row in variant.categories)
    assert find_next_steps([replace(variant, operators=tiny, categories=categories, latency=None)], ()) == ()


def test_an_operator_that_was_slow_once_is_no_step(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    once = (0.0,) * 9 + (0.9,)
    rows = tuple(
        replace(row, mean_ms=0.09, count=10, samples_ms=once) if row.name == "Add (ND) #1" else row
        for row in variant.operators
    )
    titles = {step.title for step in find_next_steps([replace(variant, operators=rows)], ())}
    assert "Reduce elementwise operators" not in titles


def with_a_pair(variant: VariantReport) -> VariantReport:
    first, second = (
        replace(change, module_path=place)
        for change, place in zip(
            [c for c in variant.layout_changes if c.kind == "transpose"], ("after stem", "before head"), strict=True
        )
    )
    pair = CancellingPair(first, second, (), "back to back", "data flow", first.mean_ms + second.mean_ms)
    return replace(variant, cancelling=(pair,))


def test_transposes_that_cancel_are_a_step_of_their_own_with_modules_and_saving(tmp_path: Path) -> None:
    variant = with_a_pair(a_report(tmp_path).variants[1])
    steps = {step.title: step for step in find_next_steps([variant], ())}
    step = steps["Remove the transposes that cancel each other"]
    assert step.saves_ms == pytest.approx(variant.cancelling[0].saves_ms)
    assert step.reason.startswith("One pair of transposes cancels each other, shown by data flow: ")
    assert "(after stem, before head)" in step.reason
    # All of them are counted there, so none is left for the general step.
    assert not {"Remove transposes", "Remove the other transposes"} & steps.keys()


def test_a_transpose_in_two_pairs_is_counted_once(tmp_path: Path) -> None:
    variant = with_a_pair(a_report(tmp_path).variants[1])
    (pair,) = variant.cancelling
    twice = replace(variant, cancelling=(pair, replace(pair, kind="around elementwise operators")))
    (step,) = [step for step in find_next_steps([twice], ()) if "cancel" in step.title]
    assert step.saves_ms == pytest.approx(pair.saves_ms)
    assert step.reason.startswith("2 pairs of transposes cancel")


def test_a_quantised_layer_is_not_told_to_be_quantised(tmp_path: Path) -> None:
    variant = a_report(tmp_path).variants[1]
    rows = tuple(
        replace(row, name="Convolution (NHWC, QS8, QC8W) IGEMM #1") if row.identity == OperatorId("d0.0") else row
        for row in variant.operators
    )
    (step,) = [s for s in find_next_steps([replace(variant, operators=rows)], ()) if s.title.startswith("Shrink ")]
    assert step.advice.startswith("A smaller layer, or")


def test_many_operators_of_a_kind_are_a_step_together(tmp_path: Path) -> None:
    pooling = tuple((f"Max Pooling (NHWC, F32) #{i + 1}", 500) for i in range(6))
    variant = a_report(tmp_path, first=(*FIRST, *pooling)).variants[1]
    rows = [row for row in variant.operators if "Pooling" in row.name]
    (step,) = [step for step in find_next_steps([variant], ()) if step.title.startswith("Shrink or quantise the ")]
    assert step.title == f"Shrink or quantise the {rows[0].kind} layers (6 operators)"
    assert step.saves_ms == pytest.approx(sum(row.mean_ms for row in rows))


def test_a_plan_switches_rules_off_in_its_report(tmp_path: Path) -> None:
    rules = {step.rule for step in a_report(tmp_path).next_steps}
    fewer = {step.rule for step in a_report(tmp_path, plan=replace(a_plan(), advice_off=("transposes",))).next_steps}
    assert rules - fewer == {"transposes"}
