"""Next steps: bounded by what was measured, ranked by it, for the variant that is to be improved."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.advice.next_steps import find_next_steps
from etprof.core.plan import Variant
from report_builder import FIRST, a_report, one_variant, untraced

OFF, ON = Variant("off", 1), Variant("on", 1)


def test_steps_are_about_the_candidate_and_the_largest_bound_comes_first(tmp_path: Path) -> None:
    steps = a_report(tmp_path).next_steps
    assert {step.variant for step in steps} == {ON}
    assert [step.saves_ms for step in steps] == sorted((step.saves_ms for step in steps), reverse=True)


def test_the_bound_of_the_transposes_is_their_time(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    (step,) = [step for step in report.next_steps if step.title == "Remove transposes"]
    rows = [row for row in report.variants[1].operators if row.subcategory == "transpose"]
    assert step.saves_ms == pytest.approx(sum(row.mean_ms for row in rows))
    assert step.share == pytest.approx(sum(row.share for row in rows))


def test_a_portable_operator_counts_in_one_step_only(tmp_path: Path) -> None:
    titles = [step.title for step in a_report(tmp_path).next_steps if "native_call" in step.reason]
    assert titles == ["Delegate the portable operators"]


def test_no_step_claims_more_than_the_whole_inference(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    whole = sum(row.mean_ms for row in report.variants[1].categories)
    assert len(report.next_steps) == 4
    assert all(0 < step.saves_ms <= whole and 0.01 <= step.share <= 1 for step in report.next_steps)


def test_the_longest_operator_is_named_with_its_module(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    variant = report.variants[1]
    rows = tuple(replace(row, module_path="stem.conv") for row in variant.operators)
    steps = find_next_steps([report.variants[0], replace(variant, operators=rows)], report.comparisons)
    (step,) = [step for step in steps if step.title == "Make Convolution (NHWC, F32) IGEMM #1 faster"]
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
    (step,) = [step for step in report.next_steps if step.title == "Delegate the portable operators"]
    assert step.share > 0.01
    variant = report.variants[1]
    rows = tuple(row if row.delegated else replace(row, share=0.009) for row in variant.operators)
    steps = find_next_steps([replace(variant, operators=rows)], ())
    assert "Delegate the portable operators" not in {step.title for step in steps}


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
    (step,) = [step for step in report.next_steps if "gained nothing" in step.title]
    assert "DWConv" in step.reason
    # Its own time, less what the same gain would leave of it.
    compute = [change for change in report.comparisons[0].operators if change.category in ("Convolution", "GEMM")]
    before, after = (sum(getattr(c, side) for c in compute) for side in ("baseline_ms", "candidate_ms"))
    (behind,) = [change for change in compute if "DWConv" in change.name]
    assert behind.candidate_ms is not None
    assert step.saves_ms == pytest.approx(behind.candidate_ms * (1 - after / before))


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
        return [step.title for step in steps if "gained nothing" in step.title]

    assert titles(4.0) == ["Find out why one compute operator gained nothing"]
    assert titles(1.15) == []
    assert titles(1.0) == []
