"""Every format renders every kind of report, says what is missing, and lets no name do harm."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports import FORMATS, sentences
from report_builder import a_report, emulated, hostile, many_operators, one_arm, untraced, with_kernels

KINDS: dict[str, Callable[[Path], Report]] = {
    "pair": a_report,
    "one arm": one_arm,
    "emulated": emulated,
    "untraced": untraced,
    "hostile": hostile,
    "with kernels": lambda folder: with_kernels(a_report(folder)),
}
TEXTS = ("md", "html", "console")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_format_renders_every_kind_of_report(name: str, kind: str, tmp_path: Path) -> None:
    assert FORMATS[name](KINDS[kind](tmp_path)).strip()


@pytest.mark.parametrize("name", ["md", "html"])
def test_a_run_without_a_pair_says_that_nothing_is_compared(name: str, tmp_path: Path) -> None:
    assert sentences.NO_PAIR in FORMATS[name](one_arm(tmp_path))


@pytest.mark.parametrize("name", ["md", "html"])
def test_a_run_without_traces_says_what_is_missing(name: str, tmp_path: Path) -> None:
    text = FORMATS[name](untraced(tmp_path))
    assert sentences.NO_TRACE in text
    assert "Not measured: which kernels executed" in text


@pytest.mark.parametrize("name", TEXTS)
def test_a_latency_that_was_taken_under_a_tracer_is_not_called_untraced(name: str, tmp_path: Path) -> None:
    report = a_report(tmp_path)
    arms = tuple(replace(arm, latency=arm.latency and replace(arm.latency, is_traced=True)) for arm in report.arms)
    texts = [FORMATS[name](replace(report, arms=some)) for some in (report.arms, arms[:1] + report.arms[1:], arms)]
    named = re.compile(r"(traced and untraced|untraced|traced)(?:, steady)? iteration", re.IGNORECASE)
    said = [named.findall(text) for text in texts]
    assert [{word.lower() for word in words} for words in said] == [{"untraced"}, {"traced and untraced"}, {"traced"}]


def test_the_console_says_whose_next_step_it_is_where_arms_have_their_own(tmp_path: Path) -> None:
    report = replace(a_report(tmp_path), comparisons=())
    first = report.next_steps[0]
    assert f"next step 1: {first.title}" in FORMATS["console"](report)
    several = replace(report, next_steps=(first, replace(first, arm="other, 1 thread")))
    assert f"next step 2 (other, 1 thread): {first.title}" in FORMATS["console"](several)


@pytest.mark.parametrize("name", FORMATS)
def test_an_emulated_run_shows_no_time_at_all(name: str, tmp_path: Path) -> None:
    text = FORMATS[name](emulated(tmp_path))
    real = FORMATS[name](a_report(tmp_path))
    for time in ("4.80 ms", "2.00 ms", "4.8", "2.01") if name in TEXTS else ():
        assert time not in text
    assert "emulated" in text
    if name == "json":
        assert '"median_ms"' in real
        assert '"median_ms"' not in text


@pytest.mark.parametrize("name", ["md", "html"])
def test_kernels_are_shown_where_they_were_sampled(name: str, tmp_path: Path) -> None:
    text = FORMATS[name](with_kernels(a_report(tmp_path))).replace("\\_", "_")
    assert "kai_matmul_sme2_mopa" in text
    assert "SME2 executed: yes" in text
    assert "Not measured: which kernels executed" not in text


def test_the_markdown_of_a_hostile_name_keeps_its_tables_whole(tmp_path: Path) -> None:
    text = FORMATS["md"](hostile(tmp_path))
    assert "<script" not in text.replace("\\<script", "")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    cells = [line.replace("\\|", "").count("|") for line in tables]
    previous = None
    for line, count in zip(tables, cells, strict=True):
        if line.startswith("| ---"):
            assert previous == count
        previous = count
    operators = text[text.index("## Operators") :]
    rows = [line.replace("\\|", "").count("|") for line in operators.splitlines() if line.startswith("|")]
    assert len(set(rows[:8])) == 1


def test_the_html_of_a_hostile_name_has_no_tag_of_it(tmp_path: Path) -> None:
    text = FORMATS["html"](hostile(tmp_path))
    assert "<script>alert" not in text
    assert text.count("<script") == 2
    assert "&lt;script&gt;alert(1)" in text


def test_a_console_summary_cannot_steer_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in FORMATS["console"](hostile(tmp_path))


def test_an_html_report_of_thousands_of_operators_stays_below_three_megabytes(tmp_path: Path) -> None:
    text = FORMATS["html"](many_operators(tmp_path, 5000))
    assert len(text.encode()) < 3_000_000
    assert "more are in the raw data" in text


def test_nothing_in_the_html_leads_out_of_the_file(tmp_path: Path) -> None:
    text = FORMATS["html"](a_report(tmp_path))
    for outside in ('src="', "url(", "@import", 'href="http', "fetch(", "XMLHttpRequest", "importScripts"):
        assert outside not in text
    assert "default-src 'none'" in text
