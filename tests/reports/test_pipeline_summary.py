"""The short summary beside a report, as JSON and as Markdown."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports.pipeline_summary import SCHEMA_VERSION, render_json, render_markdown
from report_builder import a_report


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return a_report(tmp_path)


def test_the_json_has_latencies_verdicts_and_findings(report: Report) -> None:
    value = json.loads(render_json(report, "all 4 planned rounds were run"))
    assert (value["schema_version"], value["model"]) == (SCHEMA_VERSION, "model.pte")
    assert value["stopped_because"] == "all 4 planned rounds were run"
    assert [variant["robust_statistics"]["samples"] for variant in value["variants"]] == [20, 20]
    (comparison,) = value["comparisons"]
    assert comparison["baseline"] == {"experiment": "off", "threads": 1}
    assert comparison["candidate"] == {"experiment": "on", "threads": 1}
    assert (comparison["verdict"], round(comparison["speedup"]["value"], 2)) == ("faster", 2.4)
    assert [finding["kind"] for finding in value["findings"]] == ["few runs", "few runs"]


def test_the_markdown_is_a_line_for_each_verdict_variant_and_finding(report: Report) -> None:
    text = render_markdown(report, "all 4 planned rounds were run")
    assert text.startswith("# Pipeline summary: model.pte\n\n- on against off (1 thread): faster, speed-up 2.40x")
    assert "- Stopped: all 4 planned rounds were run.\n\n| Variant | Median |" in text
    assert "| on, 1 thread | 2.00 ms | 0.025 ms | 1.5 % | 4 | 20 |" in text
    assert text.count("- 2 x few runs: off, 1 thread: only 20 timed iterations; on, 1 thread: only 20") == 1


def test_what_was_not_timed_or_compared_is_null(report: Report) -> None:
    comparison = replace(report.comparisons[0], speedup=None)
    variants = (replace(report.variants[0], latency=None), report.variants[1])
    bare = replace(report, variants=variants, comparisons=(comparison,))
    value = json.loads(render_json(bare, "it was stopped"))
    assert value["variants"][0]["robust_statistics"] is None
    assert value["comparisons"][0]["speedup"] is None
    assert "| off, 1 thread | not timed | | | | |" in render_markdown(bare, "it was stopped")
