"""The tests of a language model: rates and their intervals out of phases whose times are known, in every format."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_device_info
from etprof.analysis.llm_results import build_llm_results
from etprof.core.llm import LlmLogRecord, LlmRecord, LlmResults
from etprof.core.workload import Phase, Workload
from etprof.reports.llm_tables import RENDERERS, build_log_table, render_console, render_log_csv
from etprof.reports.text_table import render_table
from report_builder import a_report
from workload_builder import a_workload, a_workload_run, analyze

PREFILL, DECODE = a_workload().phases
FILL = Phase("fill before tg16@d32", "forward", PREFILL.inputs, resets=True, advance=32)
TESTS = Workload((replace(PREFILL, name="pp32"), FILL, replace(DECODE, name="tg16@d32")))
TIMES = {"off": (8.0, 8.0, 1.0), "on": (2.0, 2.0, 0.5)}


def results_of(folder: Path, **changes: Any) -> LlmResults:
    run = a_workload_run(folder, TESTS, TIMES, **changes)
    programs = tuple(
        replace(each, file_bytes=30 << 20, weight_bytes=28 << 20, state_bytes=6 << 20) for each in run.session.programs
    )
    results = build_llm_results(analyze(run), programs, times_are_real=run.times_are_real)
    assert results is not None
    return results


@pytest.fixture
def results(tmp_path: Path) -> LlmResults:
    return results_of(tmp_path)


def named(results: LlmResults, test: str, experiment: str) -> LlmRecord:
    return next(r.record for r in results.rows if (r.record.test, r.record.experiment) == (test, experiment))


def test_filling_the_cache_is_no_test(results: LlmResults) -> None:
    found = [(row.record.test, row.record.experiment) for row in results.rows]
    assert found == [("pp32", "off"), ("pp32", "on"), ("tg16@d32", "off"), ("tg16@d32", "on")]


def test_a_prompt_has_its_rate_and_the_time_to_the_first_token(results: LlmResults) -> None:
    prefill = named(results, "pp32", "on")
    assert prefill.time_ms == pytest.approx(2.0, rel=0.01)
    assert prefill.tokens_per_s is not None
    assert prefill.tokens_per_s == pytest.approx(16000, rel=0.01)
    assert prefill.tokens_per_s_low is not None
    assert prefill.tokens_per_s_high is not None
    assert prefill.tokens_per_s_low < prefill.tokens_per_s < prefill.tokens_per_s_high
    # The shortest time is the highest rate.
    assert prefill.time_low_ms is not None
    assert prefill.tokens_per_s_high == pytest.approx(32_000 / prefill.time_low_ms)


def test_generated_tokens_have_the_rate_of_their_steps(results: LlmResults) -> None:
    decode = named(results, "tg16@d32", "on")
    assert (decode.phase, decode.tokens, decode.depth) == ("decode", 16, 32)
    assert decode.tokens_per_s == pytest.approx(2000, rel=0.01)
    assert decode.speedup == pytest.approx(2.0, rel=0.01)
    assert (decode.verdict, decode.against) == ("faster", "off, 1 thread")
    assert named(results, "tg16@d32", "off").verdict == ""


def test_one_block_gives_a_rate_without_an_interval(tmp_path: Path) -> None:
    prefill = named(results_of(tmp_path, blocks=1), "pp32", "on")
    assert prefill.tokens_per_s == pytest.approx(16000, rel=0.02)
    assert prefill.tokens_per_s_low is None


def test_categories_are_those_of_a_step_of_the_test(results: LlmResults) -> None:
    rows = {(row.record.test, row.record.experiment): row for row in results.rows}
    prefill, decode = rows["pp32", "on"].categories, rows["tg16@d32", "on"].categories
    assert prefill[0].name == decode[0].name == "GEMM"
    assert prefill[0].mean_ms > decode[0].mean_ms


def test_a_run_about_something_else_has_no_tests(tmp_path: Path) -> None:
    assert build_llm_results(a_report(tmp_path), (), times_are_real=True) is None
    run = a_workload_run(tmp_path)
    assert build_llm_results(analyze(run), run.session.programs, times_are_real=True) is None


def test_where_times_are_not_real_there_is_no_rate(tmp_path: Path) -> None:
    results = results_of(tmp_path, device=a_device_info(times_are_real=False))
    assert all(row.record.tokens_per_s is None and row.record.time_ms is None for row in results.rows)
    assert "emulated: times not meaningful" in render_console(results, 100)


def test_the_table_says_rates_speedups_and_memory(results: LlmResults) -> None:
    text = render_console(results, None)
    assert "pp32" in text
    assert "faster" in text
    assert "GEMM" in text
    assert "file 30.0 MiB, weights 28.0 MiB, cache 6.0 MiB" in text
    narrow = render_console(results, 70)
    assert max(map(len, narrow.splitlines())) <= 70
    assert "not shown at this width" in narrow


def test_json_and_csv_have_every_field(results: LlmResults) -> None:
    content = json.loads(RENDERERS["json"](results))
    assert content["schema_version"] == 1
    assert [each["test"] for each in content["tests"]] == ["pp32", "pp32", "tg16@d32", "tg16@d32"]
    assert set(LlmRecord._fields) < set(content["tests"][0])
    assert sum(content["tests"][0]["categories"].values()) == pytest.approx(1, abs=1e-6)
    assert content["memory"][0]["cache_bytes"] == 6 << 20
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](results))))
    assert float(rows[1]["tokens_per_s"]) == pytest.approx(16000, rel=0.01)
    assert list(rows[0]) == [*LlmRecord._fields, "categories"]


def test_markdown_is_one_table_of_equal_rows(results: LlmResults) -> None:
    lines = [line for line in RENDERERS["md"](results).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 4
    assert len({line.count("|") for line in lines}) == 1


def test_what_other_runners_printed_is_a_table_of_its_own() -> None:
    logs = {
        "a.log": (LlmLogRecord(14, 54, 2277.0, 164.0, 85.366, 52.683, 19.0),),
        "=b": (LlmLogRecord(1, 0, *[None] * 5),),
    }
    text = render_table(build_log_table(logs), None)
    assert "85.37" in text
    assert "164.0 ms" in text
    rows = list(csv.reader(io.StringIO(render_log_csv(logs))))
    assert rows[2][:3] == ["'=b", "1", "0"]
