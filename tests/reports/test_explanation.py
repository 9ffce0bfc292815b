"""A report's parts in words: everything it holds can be asked for, and nothing that it does not hold."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.errors import UnknownNameError
from etprof.core.estimates import Verdict
from etprof.core.report import Report
from etprof.core.rows import KernelUse
from etprof.reports.explanation import list_subjects, render
from report_builder import CONVOLUTION, a_report


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return a_report(tmp_path)


def test_every_subject_and_every_operator_is_explained(report: Report) -> None:
    subjects = list_subjects(report)
    assert {"verdict", "next steps", "Convolution", "Framework overhead"} <= set(subjects)
    names = [row.name for variant in report.variants for row in variant.operators]
    for subject in (*subjects, *names, *(name.upper() for name in subjects)):
        assert render(report, subject).strip()


@pytest.mark.parametrize("verdict", Verdict)
def test_a_verdict_is_explained_with_its_interval_and_its_noise(report: Report, verdict: Verdict) -> None:
    text = render(replace(report, comparisons=(replace(report.comparisons[0], verdict=verdict),)), "verdict")
    assert f"{verdict.value}, speed-up " in text
    assert "95 % interval" in text
    assert "Noise floor: 0.7 %." in text


def test_a_category_tells_its_time_its_operators_and_its_change(report: Report) -> None:
    text = render(report, "convolution")
    assert text.startswith("Convolution: ")
    assert "of each traced inference" in text
    assert CONVOLUTION in text
    assert "From off to on: " in text


def test_an_operator_tells_its_rank_its_place_and_its_kernels(report: Report) -> None:
    use = KernelUse("kai_kernel", "SME", 7)
    variants = tuple(
        replace(variant, operators=tuple(replace(r, kernels=(use,), module_path="stem") for r in variant.operators))
        for variant in report.variants
    )
    text = render(replace(report, variants=variants), CONVOLUTION)
    assert "run by the delegate, in the module stem" in text
    assert f"number 1 of {len(variants[0].operators)}" in text
    assert "Kernels seen: kai_kernel (SME, 7)." in text
    identity = next(row.identity for row in variants[0].operators if row.name == CONVOLUTION)
    assert render(replace(report, variants=variants), identity) == text
    assert "outside of any delegate" in render(report, "native_call_upsample_nearest2d.vec_out")


def test_a_part_of_a_name_finds_all_that_have_it(report: Report) -> None:
    text = render(report, "transpose")
    assert text.count("Data Movement, transpose") == 2
    assert "it only moves data" in text


def test_a_finding_is_given_with_its_advice(report: Report) -> None:
    for finding in report.findings:
        text = render(report, finding.kind)
        assert finding.message.removesuffix(".") in text
        assert finding.advice in text
    assert report.findings


def test_what_is_unknown_is_refused_with_what_is_known(report: Report) -> None:
    with pytest.raises(UnknownNameError) as near:
        render(report, "convolutoin")
    assert "Convolution" in near.value.hint
    with pytest.raises(UnknownNameError) as far:
        render(report, "???")
    assert "verdict, next steps" in far.value.hint


def test_emulated_times_are_not_talked_about(report: Report) -> None:
    assert render(replace(report, times_are_real=False), "verdict").startswith("This device is emulated")
