"""The report on a terminal: it fits, names stand whole, and what was not measured is said."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_plan
from etprof.core.report import Report
from etprof.reports import console, sentences
from report_builder import a_report, emulated, hostile, one_variant, untraced, with_kernels

KINDS: list[Callable[[Path], Report]] = [
    a_report, one_variant, emulated, untraced, hostile, lambda folder: with_kernels(a_report(folder)),
]  # fmt: skip
LONG = ("mobilenet_v3_without_avx512_vnni", "mobilenet_v3_with_avx512_and_vnni")


def long_names(folder: Path) -> Report:
    plan = a_plan()
    experiments = tuple(replace(each, name=name) for each, name in zip(plan.experiments, LONG, strict=True))
    report = a_report(folder)
    variants = tuple(replace(v, experiment=e.name) for v, e in zip(report.variants, experiments, strict=True))
    (comparison,) = report.comparisons
    pair = replace(comparison, baseline=variants[0].variant, candidate=variants[1].variant)
    return replace(report, variants=variants, comparisons=(pair,))


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("build", [*KINDS, long_names])
def test_every_line_fits_and_labels_stand_whole(build: Callable[[Path], Report], width: int, tmp_path: Path) -> None:
    report = build(tmp_path)
    lines = console.render(report, width).splitlines()
    assert max(map(len, lines)) <= width
    for variant in report.variants:
        assert any(line.startswith(variant.label) for line in lines)


def test_a_pipe_gets_eighty_columns(tmp_path: Path) -> None:
    report = long_names(tmp_path)
    assert console.render(report) == console.render(report, 80)
    assert "not shown at this width: iterations (a wider terminal shows all)" in console.render(report)
    assert "not shown" not in console.render(report, None)


def test_categories_add_up_to_the_whole(tmp_path: Path) -> None:
    text = console.render(a_report(tmp_path))
    assert "Where the time goes (traced, per inference); baseline: off, candidate: on" in text
    assert re.search(r"^category +baseline +share +candidate +share +speed-up$", text, re.M)
    assert re.search(r"^Convolution +3\.00 ms +62\.5 % +0\.752 ms +38\.6 % +3\.99x$", text, re.M)
    assert re.search(r"^end to end +4\.80 ms +1\.95 ms +2\.46x$", text, re.M)


def test_a_variant_without_latency_has_a_sentence_instead_of_a_row(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    untimed = replace(report, variants=(replace(report.variants[0], latency=None), report.variants[1]))
    text = console.render(untimed)
    assert "\noff, 1 thread: traced only, not timed\n" in text
    assert not re.search(r"^off, 1 thread +\d", text, re.M)


def test_one_variant_is_shown_by_itself(tmp_path: Path) -> None:
    text = console.render(one_variant(tmp_path))
    assert "Where the time of off, 1 thread goes (traced, per inference)" in text
    assert re.search(r"^Convolution +3\.00 ms +62\.5 %$", text, re.M)
    assert sentences.NO_PAIR in text


def test_the_first_three_next_steps_and_every_finding_are_listed(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    steps = tuple(replace(report.next_steps[0], title=f"Step {number}") for number in range(1, 6))
    text = " ".join(console.render(replace(report, next_steps=steps)).split())
    assert [f"next step {n}: Step {n}: at most" in text for n in range(1, 6)] == [True] * 3 + [False] * 2
    assert report.findings
    first, second = report.findings
    assert text.count("finding: ") == 1
    assert f"finding: {first.message.removesuffix('.')}; {second.message} {second.advice}" in text


def test_sentences_keep_numbers_with_their_units(tmp_path: Path) -> None:
    for width in range(40, 100):
        assert not re.search(r"\d$\s*(?:%|ms\b)", console.render(a_report(tmp_path), width), re.M)
