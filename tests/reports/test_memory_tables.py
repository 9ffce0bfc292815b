"""Memory and starts in every format: tables that add up, sentences for what is missing, and the plan as a plot."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest

from builders import a_loaded_run, a_plan, a_session
from etprof.analysis.report import build_report
from etprof.core.memory import LoadStage
from etprof.core.memory_records import list_live, list_memory
from etprof.core.report import Report
from etprof.reports import FORMATS, memory_tables
from etprof.reports.charts import list_charts
from etprof.reports.memory_plot import draw_plan
from memory_builder import PLAN, STAGES, a_block, slowed


def a_report(**changes: Any) -> Report:
    plan = a_plan(blocks=2)
    cold: dict[str, Any] = {"cached": 0.0, "stages": slowed(STAGES, 3)}
    blocks = [a_block(e.name, index, **({} if index == 0 else cold)) for e in plan.experiments for index in (0, 1)]
    run = a_loaded_run(a_session(plan, tuple(blocks)))
    return replace(build_report(run, title="t", created_at="now"), plans=(PLAN,), **changes)


REPORT = a_report()


def rows_of(title: str) -> list[dict[str, str]]:
    table = next(table for table, _ in memory_tables.list_tables(REPORT) if table.title.startswith(title))
    return [dict(zip(table.headings, row, strict=True)) for row in table.rows]


def test_a_row_has_the_peak_and_its_parts() -> None:
    off, on = rows_of("What the peak")
    assert (on["variant"], on["peak"], on["workspace"]) == ("on, 1 thread", "30.0 MiB", "13.0 MiB")
    assert (on["packed weights"], on["planned activations"], off["libraries and runner"]) == (
        "9.0 MiB", "1.0 MiB", "6.0 MiB",
    )  # fmt: skip
    assert "unattributed" not in on, "a part that nobody has is no column"


def test_a_stage_has_what_is_resident_and_what_is_its_own() -> None:
    assert rows_of("Resident memory")[0]["method"] == "16.2 MiB (8.1 MiB)"


def test_a_start_is_a_row_with_the_file_in_the_page_cache_and_one_without() -> None:
    warm, cold = rows_of("Start of a process")[:2]
    assert (warm["model file"], cold["model file"]) == ("in the page cache", "out of the page cache")
    assert (warm["method"], cold["method"]) == ("12.00 ms", "36.00 ms")
    assert (warm["together"], cold["together"]) == ("37.50 ms", "112.5 ms")


@pytest.mark.parametrize("name", ["console", "md", "html"])
def test_readers_see_memory_and_starts(name: str) -> None:
    text = FORMATS[name].render(REPORT)
    for said in ("What the peak memory is made of", "Start of a process", "30.0 MiB", "out of the page cache"):
        assert said in text
    if name != "console":
        assert "model.pte, forward: 264 B planned in 1 buffer; most is alive in XnnpackBackend" in text
        assert "Inside of a delegate the plan knows only inputs and outputs" in text
        assert "Tensors of the peak" in text


def test_programs_see_memory_and_starts() -> None:
    variant = json.loads(FORMATS["json"].render(REPORT))["variants"][0]
    assert sum(part["bytes"] for part in variant["memory"]["parts"]) == variant["memory"]["peak_bytes"]
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].render(REPORT))))
    on = [row for row in rows if row["experiment"] == "on"]
    parts = [int(row["bytes"]) for row in on if row["level"] == "memory"]
    assert sum(parts) == variant["memory"]["peak_bytes"]
    assert [float(row["mean_ms"]) for row in on if row["level"] == "start" and row["name"] == "method"] == [12.0, 36.0]
    assert {row["name"] for row in on if row["level"] == "stage"} >= {"method", "steady"}


def test_records_have_every_part_stage_and_operator() -> None:
    levels = [record.level for record in list_memory(REPORT.variants[0])]
    assert (levels.count("memory"), levels.count("stage"), levels.count("start")) == (6, 8, 10)
    assert [record.live_bytes for record in list_live(PLAN)] == [120, 200, 140]


def test_much_that_is_unattributed_and_a_cache_that_stayed_are_said() -> None:
    blocks = (a_block("on", index=1, cached=0.7, peak_bytes=60 << 20),)
    report = build_report(a_loaded_run(a_session(a_plan(blocks=1), blocks)), title="t", created_at="now")
    said = " ".join(memory_tables.list_sentences(report))
    assert "on, 1 thread: 50.0 % of the peak lies between the moments at which memory was read." in said
    assert "The model's file could not leave the page cache in 1 block: it lies in memory" in said


def test_a_system_that_reports_nothing_says_so_in_words() -> None:
    blocks = (a_block("on", cached=None, stages=(LoadStage("method", 5),)),)
    report = build_report(a_loaded_run(a_session(a_plan(blocks=1), blocks)), title="t", created_at="now")
    assert list(memory_tables.list_sentences(report)) == [
        "Whether the model's file was in the page cache is not reported by this system."
    ]
    assert [table.title for table, _ in memory_tables.list_tables(report)] == ["Start of a process"]


def test_the_plot_has_a_step_for_each_operator_and_its_caption_the_peak() -> None:
    (chart,) = (chart for chart in list_charts(REPORT) if chart.name == "activations")
    assert "200 B" in chart.caption
    drawing = chart.draw(500)
    assert [point.value for point in drawing.points] == [120, 200, 140]
    assert drawing.render().startswith("<svg")


def test_a_plot_of_many_operators_keeps_its_peak() -> None:
    live = tuple(range(5000))
    plan = replace(PLAN, operators=("a",) * 5000, live_bytes=live)
    points = draw_plan(plan, 500).points
    assert len(points) <= 800
    assert max(point.value for point in points) == pytest.approx(4999 / 1024)
