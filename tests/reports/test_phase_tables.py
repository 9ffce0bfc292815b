"""The phases of a workload in words, tables and charts."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from builders import a_device_info
from etprof.core.phase_records import list_phase_categories, list_phase_operators, list_phases, list_steps
from etprof.core.phases import Phases
from etprof.core.report import Report
from etprof.reports import FORMATS, phase_tables
from etprof.reports.charts import FULL, NARROW, list_charts
from etprof.reports.explanation import list_subjects
from etprof.reports.explanation import render as explain
from etprof.reports.first_screen import build_first_screen
from etprof.reports.json import json_schema
from report_builder import a_report
from workload_builder import a_phase_report, a_workload, a_workload_run, analyze, with_samples


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return analyze(with_samples(a_workload_run(tmp_path, growth={"on": 0.2})))


def phases_of(report: Report) -> Phases:
    assert report.phases is not None
    return report.phases


def test_the_answers_say_whether_steps_slow_down_and_in_which_phase_kernels_ran(report: Report) -> None:
    answers = phase_tables.list_all(report)
    assert answers[0].startswith("prefill, on against off (1 thread): faster, speed-up 4.0")
    (constant,) = (each for each in answers if each.startswith("decode, off: "))
    assert "steps do not slow down: " in constant
    (grows,) = (each for each in answers if each.startswith("decode, on: steps"))
    assert re.fullmatch(
        r"decode, on: steps slow down: \+20\.\d % over 16 steps, by the median slope between them "
        r"\(9\d % interval \+\d+\.\d % to \+\d+\.\d %; more by 1\d(\.\d)? us with each step\)\.",
        grows,
    )
    assert any(each.startswith("prefill, on: SME2 executed: yes") for each in answers)
    assert any(each.startswith("decode, on: SME2 executed: no") for each in answers)
    assert not any(each.startswith("decode, off: SME2") for each in answers)
    assert "on: 0.085 ms (0.5 %) of a sequence lie between its 17 steps." in answers
    assert answers[-1].endswith("(Holm's correction).")


def test_an_undecided_slope_is_called_inconclusive(tmp_path: Path) -> None:
    report = a_phase_report(tmp_path, noise=0.2)
    said = [each for each in phase_tables.list_answers(report) if each.startswith("decode, on: ")]
    assert said[0].startswith("decode, on: whether steps slow down is inconclusive: ")
    few = a_phase_report(tmp_path, blocks=2)
    assert any("is inconclusive; 2 blocks are too few" in each for each in phase_tables.list_answers(few))


def test_the_table_has_every_phase_the_gaps_and_the_whole(report: Report) -> None:
    table = phase_tables.build_table(report)
    assert [row[0] for row in table.rows] == [
        "prefill, off",
        "prefill, on",
        "decode, off",
        "decode, on",
        "between steps, off",
        "whole sequence, off",
        "between steps, on",
        "whole sequence, on",
    ]
    assert {len(row) for row in table.rows} == {len(table.headings)}


@pytest.mark.parametrize("name", ["md", "html", "console"])
def test_the_texts_hold_the_answers_and_the_table(name: str, report: Report) -> None:
    text = FORMATS[name].render(report)
    flat = " ".join(re.sub(r"<[^>]+>", " ", text.replace("\\", "").replace("&#39;", "'")).split())
    for answer in phase_tables.list_all(report):
        assert answer in flat
    for row in phase_tables.build_table(report).rows:
        assert row[0] in flat
        assert row[3 if name != "console" else 2] in flat
    assert "per traced sequence" in flat or name != "html"
    assert "per inference" not in flat


def test_a_report_without_a_workload_says_nothing_of_phases(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    for name in FORMATS:
        assert "hase" not in re.sub(r'id="data">[^<]+', "", FORMATS[name].render(report)), name
    assert phase_tables.list_all(report) == []
    assert "phases" not in list_subjects(report)


def test_the_json_has_the_phases_and_fits_its_schema(report: Report) -> None:
    value = json.loads(FORMATS["json"].render(report))
    assert not list(Draft202012Validator(json_schema()).iter_errors(value))
    rows = value["phases"]["rows"]
    assert [row["name"] for row in rows] == ["prefill", "decode", "whole sequence"]
    decode = rows[1]["variants"][1]
    assert decode["curve"]["shape"] == "grows"
    assert decode["kernels"]["verdict"].startswith("SME2 executed: no")
    assert rows[1]["comparisons"][0]["baseline"] == {"experiment": "off", "threads": 1}


def test_the_csv_has_a_row_for_each_phase_and_for_what_takes_part_in_it(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"].render(report))))
    own = [row for row in rows if row["level"] == "phase" and row["experiment"] == "on"]
    assert [(row["name"], row["count"]) for row in own] == [
        ("prefill", "1"),
        ("decode", "16"),
        ("whole sequence", "17"),
    ]
    assert float(own[0]["speedup"]) == pytest.approx(4, rel=0.02)
    phases = phases_of(report)
    for level, records in (("category", list_phase_categories(phases)), ("operator", list_phase_operators(phases))):
        expected = [(f"{level} of {each.phase}", each.name, each.mean_ms) for each in records]
        found = [(r["level"], r["name"], float(r["mean_ms"])) for r in rows if r["level"].startswith(f"{level} of")]
        assert found == expected


def test_records_hold_what_the_phases_do(report: Report) -> None:
    phases = phases_of(report)
    records = list(list_phases(phases))
    assert [(each.phase, each.experiment, each.verdict) for each in records[:2]] == [
        ("prefill", "off", ""),
        ("prefill", "on", "faster"),
    ]
    assert records[1].baseline == "off_t1"
    assert records[3].shape == "grows"
    steps = [each for each in list_steps(phases) if each.experiment == "on"]
    assert [(each.step, each.position) for each in steps] == [(n, 32 + n) for n in range(16)]


def test_the_first_screen_names_the_phases(report: Report) -> None:
    screen = build_first_screen(report)
    assert screen.phase_headings == ("Step of", "off", "on", "Speed-up")
    assert [row[0] for row in screen.phases] == ["prefill", "decode"]
    assert screen.phases[0][1] == "8.01 ms"
    assert screen.kernels == (
        "SME2 executed: yes; in Convolution and GEMM: prefill 100.0 %, decode 0.0 % of the samples. "
        "Of all samples 5.9 %; elsewhere: 94.1 % 1 Convolution/GEMM operator without it.",
    )


def test_the_charts_show_phases_side_by_side_and_the_time_of_each_step(report: Report) -> None:
    charts = {chart.name: chart for chart in list_charts(report)}
    phases, steps = charts["phases"].draw(FULL), charts["steps"].draw(NARROW)
    ends = [max(bar.end for bar in phases.bars if bar.row == row) for row in range(4)]
    assert ends == pytest.approx([each.mean_ms for row in phases_of(report).rows[:2] for each in row.variants])
    assert [line.name for line in steps.lines] == ["off, 1 thread", "on, 1 thread"]
    assert [mark.x for mark in steps.lines[0].marks] == list(range(1, 17))
    assert steps.lines[1].marks[-1].value == pytest.approx(0.9 * 1.2, rel=0.01)
    assert "1.08 ms at the last" in charts["steps"].caption


def test_fifty_phases_are_one_readable_report(tmp_path: Path) -> None:
    workload = a_workload(*[2] * 50)
    times = {"off": [1.0 + n / 50 for n in range(50)], "on": [0.5] * 50}
    report = a_phase_report(tmp_path, workload=workload, times_ms=times)
    assert len(phase_tables.build_table(report).rows) == 2 * 50 + 4
    answers = phase_tables.list_all(report)
    assert sum("against" in each for each in answers) == phase_tables.MOST_PHASES
    assert "42 phases more, with less time: see the table." in answers
    console = FORMATS["console"].render(report)
    assert "phase 49, on" in console
    assert "phase 0, on" not in console
    for name in FORMATS:
        FORMATS[name].render(report)


def test_a_workload_that_was_not_traced_still_has_times(tmp_path: Path) -> None:
    report = a_phase_report(tmp_path, with_traces=False)
    assert phase_tables.build_category_table(report) is None
    assert list(phase_tables.list_operator_tables(report)) == []
    bars = next(chart for chart in list_charts(report) if chart.name == "phases").draw(FULL).bars
    assert {bar.category for bar in bars} == {""}
    for name in FORMATS:
        FORMATS[name].render(report)


def test_an_emulated_workload_shows_kernels_by_phase_and_no_time(tmp_path: Path) -> None:
    run = with_samples(a_workload_run(tmp_path, device=a_device_info(times_are_real=False)))
    report = analyze(run)
    assert any(each.startswith("prefill, on: SME2 executed: yes") for each in phase_tables.list_answers(report))
    assert "of their samples" in " ".join(phase_tables.list_answers(report))
    for name in ("md", "html", "console"):
        text = FORMATS[name].render(report)
        assert "8.01 ms" not in text
        assert "2.00 ms" not in text
    assert not [chart.name for chart in list_charts(report) if chart.name.startswith(("phases", "steps"))]


def test_phases_can_be_explained(report: Report) -> None:
    assert "phases" in list_subjects(report)
    assert explain(report, "phases").splitlines() == phase_tables.list_all(report)
