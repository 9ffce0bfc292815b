"""What an emulated run may show: which operators ran, never how long; every command says so in the same words."""

import json
import re
from pathlib import Path

import pytest

from builders import a_device_info, a_plan, a_session, paired_results
from etprof.cli.main import main
from etprof.core.run import NO_TIMES
from etprof.store.session_file import save_session, was_emulated
from report_builder import a_trace

TIME = re.compile(r"\d\s?(?:ns|us|µs|ms|s)\b|\d\.\d\dx|_ms\b")
REPORTS = ("report.md", "report.html", "report.csv", "trace.json", "analysis_summary.json")


def a_run(folder: Path, scratch: Path) -> Path:
    results = paired_results([4.8, 4.81, 4.79, 4.8], [2.0, 2.01, 1.99, 2.0])
    for experiment, scale in (("off", 1.0), ("on", 0.25)):
        (folder / experiment).mkdir(parents=True)
        a_trace(scratch, scale)
        (scratch / f"trace_{scale}_3.etdump").rename(folder / experiment / f"{experiment}_t1.etdump")
    save_session(folder, a_session(a_plan(folder), results, device=a_device_info(times_are_real=False)))
    return folder


@pytest.fixture
def emulated(tmp_path: Path) -> Path:
    return a_run(tmp_path / "run", tmp_path)


def test_reports_of_every_format_say_so_and_hold_no_time(emulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(emulated), "--format", "md,html,csv,trace,json,console"]) == 0
    texts = {name: (emulated / name).read_text(encoding="utf-8") for name in REPORTS}
    texts["console"] = capsys.readouterr().out
    for name, text in texts.items():
        assert NO_TIMES in text, name
    for name in ("report.md", "console"):
        assert not TIME.findall(texts[name]), name
    summary = json.loads(texts["analysis_summary.json"])
    assert [(a["latency"], a["accounting"], a["operators"], a["samples_ms"]) for a in summary["arms"]] == [
        (None, None, [], [])
    ] * 2
    assert [c["speedup"] for c in summary["comparisons"]] == [None]
    assert json.loads(texts["trace.json"])["traceEvents"] == []


def test_analysing_leaves_no_table_of_times(emulated: Path) -> None:
    assert main(["analyze", str(emulated), "--quiet"]) == 0
    assert [path.name for path in emulated.glob("*/*") if path.suffix != ".etdump"] == []
    for path in emulated.glob("*_pipeline_summary.*"):
        assert NO_TIMES in path.read_text(encoding="utf-8")


def test_operators_are_listed_in_their_order_without_times(emulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["operators", str(emulated / "on")]) == 0
    said = capsys.readouterr().out
    assert NO_TIMES in said
    assert "Convolution" in said
    assert not TIME.findall(said.partition("\n")[2])


@pytest.mark.parametrize("command", ["categories", "transposes", "timeline", "ops-json"])
def test_commands_that_tell_of_times_alone_refuse(
    command: str, emulated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(emulated.rglob("*"))
    assert main([command, str(emulated / "on" / "on_t1.etdump")]) == 2
    said = capsys.readouterr()
    assert NO_TIMES in said.err
    assert said.out == ""
    assert sorted(emulated.rglob("*")) == before


@pytest.mark.parametrize("option", ["--compare", "--output-dir"])
def test_operators_are_neither_compared_nor_written(
    option: str, emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = emulated / "off" if option == "--compare" else tmp_path / "tables"
    assert main(["operators", str(emulated / "on"), option, str(value)]) == 2
    assert NO_TIMES in capsys.readouterr().err
    assert not (tmp_path / "tables").exists()


def test_a_real_trace_is_not_compared_with_an_emulated_one(
    emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "bare.etdump"
    bare.write_bytes((emulated / "on" / "on_t1.etdump").read_bytes())
    assert main(["operators", str(bare), "--compare", str(emulated / "off")]) == 2
    assert NO_TIMES in capsys.readouterr().err


def test_latencies_are_not_summarised_and_runs_not_compared(
    emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = a_run(tmp_path / "other", tmp_path)
    assert main(["latency", str(emulated)]) == 1
    assert main(["compare", str(emulated), str(other)]) == 2
    assert capsys.readouterr().err.count(NO_TIMES) == 2
    assert main(["check", str(emulated), "--against", str(other)]) == 3
    checked = capsys.readouterr().out
    assert NO_TIMES in checked
    assert not re.findall(r"\d ms\b", checked)
    for name in ("page.md", "page.html"):
        assert main(["combine", str(emulated), str(other), "--out", str(tmp_path / name)]) == 0
        assert NO_TIMES in (tmp_path / name).read_text(encoding="utf-8")
    assert not TIME.findall((tmp_path / "page.md").read_text(encoding="utf-8"))


def test_only_a_manifest_beside_it_makes_a_trace_emulated(emulated: Path, tmp_path: Path) -> None:
    assert was_emulated(emulated / "on" / "on_t1.etdump")
    assert was_emulated(emulated / "bare.etdump")
    assert not was_emulated(tmp_path / "bare.etdump")
    (tmp_path / "manifest.json").write_text("not ours", encoding="utf-8")
    assert not was_emulated(tmp_path / "bare.etdump")
    (tmp_path / "manifest.json").write_text('["neither"]', encoding="utf-8")
    assert not was_emulated(tmp_path / "bare.etdump")
