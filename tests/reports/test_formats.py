"""Every format renders every kind of report, says what is missing, and lets no name do harm."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.reports import FORMATS, sentences
from etprof.reports.plain_text import printable
from report_builder import (
    a_report,
    at_thread_counts,
    emulated,
    hostile,
    one_variant,
    untraced,
    with_kernels,
    with_roofline,
)
from workload_builder import a_phase_report

KINDS: dict[str, Callable[[Path], Report]] = {
    "pair": a_report,
    "one variant": one_variant,
    "emulated": emulated,
    "untraced": untraced,
    "hostile": hostile,
    "thread counts": at_thread_counts,
    "with roofline": with_roofline,
    "workload": a_phase_report,
    "with kernels": lambda folder: with_kernels(a_report(folder)),
}
TEXTS = ("md", "html", "console")


def flat(text: str) -> str:
    return " ".join(printable(word) for word in text.split())


def assert_text_holds(report: Report, text: str) -> None:
    # Without what keeps Markdown and HTML from reading names as markup.
    said = flat(html.unescape(re.sub(r"\\(?=\W|_)", "", text)))
    for variant in report.variants:
        assert variant.label in said
        assert sentences.median_text(variant, report) in said
    for comparison in report.comparisons:
        assert sentences.verdict_sentence(comparison) in said
    for finding in report.findings:
        assert flat(finding.message.removesuffix(".")) in said


def assert_json_holds(report: Report, text: str) -> None:
    value = json.loads(text)
    assert [(v["experiment"], len(v["operators"])) for v in value["variants"]] == [
        (variant.experiment, len(variant.operators)) for variant in report.variants
    ]
    assert [c["verdict"] for c in value["comparisons"]] == [c.verdict.value for c in report.comparisons]
    assert [f["message"] for f in value["findings"]] == [finding.message for finding in report.findings]


def assert_csv_holds(report: Report, text: str) -> None:
    rows = list(csv.DictReader(io.StringIO(text)))
    for variant in report.variants:
        own = [row for row in rows if (row["experiment"], row["threads"]) == (variant.experiment, str(variant.threads))]
        assert [row["identity"] for row in own if row["level"] == "operator"] == [r.identity for r in variant.operators]
        assert [row["name"] for row in own if row["level"] == "category"] == [r.name for r in variant.categories]
        medians = [float(row["median_ms"]) for row in own if row["level"] == "latency"]
        assert medians == ([variant.latency.median_ms] if variant.latency else [])


def assert_trace_holds(report: Report, text: str) -> None:
    events = json.loads(text)["traceEvents"]
    assert sum(event["ph"] in "Xi" for event in events) == sum(len(track.slices) for track in report.tracks)
    names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert names == list(dict.fromkeys(track.variant.label for track in report.tracks))


def assert_graph_holds(report: Report, text: str) -> None:
    nodes = [node for graph in json.loads(text)["graphs"] for node in graph["nodes"]]
    held = {entry["value"] for node in nodes for entry in node["attrs"] if entry["key"] == "operators"}
    for variant in report.variants:
        assert {f"{row.identity} {row.name}" for row in variant.operators} <= held


HOLDS = {
    "json": assert_json_holds,
    "csv": assert_csv_holds,
    "trace": assert_trace_holds,
    "model-explorer": assert_graph_holds,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_format_holds_what_every_kind_of_report_says(name: str, kind: str, tmp_path: Path) -> None:
    report = KINDS[kind](tmp_path)
    HOLDS.get(name, assert_text_holds)(report, FORMATS[name].render(report))


@pytest.mark.parametrize("name", ["md", "html"])
def test_a_run_without_a_pair_says_that_nothing_is_compared(name: str, tmp_path: Path) -> None:
    assert sentences.NO_PAIR in FORMATS[name].render(one_variant(tmp_path))


@pytest.mark.parametrize("name", ["md", "html"])
def test_a_run_without_traces_says_what_is_missing(name: str, tmp_path: Path) -> None:
    text = FORMATS[name].render(untraced(tmp_path))
    assert sentences.NO_TRACE in text
    assert "Not measured: which kernels executed" in text


@pytest.mark.parametrize("name", TEXTS)
def test_a_latency_that_was_taken_under_a_tracer_is_not_called_untraced(name: str, tmp_path: Path) -> None:
    report = a_report(tmp_path)
    variants = tuple(
        replace(variant, latency=variant.latency and replace(variant.latency, is_traced=True))
        for variant in report.variants
    )
    texts = [
        FORMATS[name].render(replace(report, variants=some))
        for some in (report.variants, variants[:1] + report.variants[1:], variants)
    ]
    named = re.compile(r"(traced and untraced|untraced|traced)(?:, steady)? iteration", re.IGNORECASE)
    said = [named.findall(text) for text in texts]
    assert [{word.lower() for word in words} for words in said] == [{"untraced"}, {"traced and untraced"}, {"traced"}]


def test_the_console_says_whose_next_step_it_is_where_variants_have_their_own(tmp_path: Path) -> None:
    report = replace(a_report(tmp_path), comparisons=())
    first = report.next_steps[0]
    assert f"next step 1: {first.title}" in FORMATS["console"].render(report)
    several = replace(report, next_steps=(first, replace(first, variant=Variant("other", 1))))
    said = " ".join(FORMATS["console"].render(several).split())
    assert f"next step 2 (other, 1 thread): {first.title}" in said


@pytest.mark.parametrize("name", FORMATS)
def test_an_emulated_run_shows_no_time_at_all(name: str, tmp_path: Path) -> None:
    text = FORMATS[name].render(emulated(tmp_path))
    real = FORMATS[name].render(a_report(tmp_path))
    for time in ("4.80 ms", "2.00 ms", "4.8", "2.01") if name in TEXTS else ():
        assert time not in text
    assert "emulated" in text
    if name == "json":
        assert '"median_ms"' in real
        assert '"median_ms"' not in text


@pytest.mark.parametrize("name", ["md", "html"])
def test_kernels_are_shown_where_they_were_sampled(name: str, tmp_path: Path) -> None:
    text = FORMATS[name].render(with_kernels(a_report(tmp_path))).replace("\\_", "_")
    assert "kai_matmul_sme2_mopa" in text
    assert "SME2 executed: yes" in text
    assert "Not measured: which kernels executed" not in text


def test_the_markdown_of_a_hostile_name_keeps_its_tables_whole(tmp_path: Path) -> None:
    text = FORMATS["md"].render(hostile(tmp_path))
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


def test_a_console_summary_cannot_steer_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in FORMATS["console"].render(hostile(tmp_path))


def test_a_variant_that_was_only_sampled_is_in_the_kernel_section_alone(tmp_path: Path) -> None:
    report = with_kernels(a_report(tmp_path))
    sampled = tuple(
        replace(v, experiment=f"{v.experiment}_kernels", latency=None, samples_ms=()) for v in report.variants
    )
    timed = tuple(replace(variant, evidence=None) for variant in report.variants)
    both = replace(report, variants=(*timed, *sampled))
    assert both.measured == timed
    assert replace(report, variants=sampled).measured == sampled
    for name, marks in {"md": ("\n## Kernels", "\n## Transposes"), "html": ('id="kernels"', 'id="layout"')}.items():
        before, rest = FORMATS[name].render(both).split(marks[0], 1)
        kernels, after = rest.split(marks[1], 1)
        assert "on_kernels" in kernels.replace("\\", "")
        assert "on_kernels" not in (before + after).replace("\\", "")
    assert FORMATS["console"].render(both).count("on_kernels") == 1
    assert "on_kernels" in FORMATS["json"].render(both)
