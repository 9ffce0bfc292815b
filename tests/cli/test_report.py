"""`etprof report`: one run in every format, latencies, and several runs on one page, as typed."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.cli.main import main
from etprof.core.units import NO_TIMES
from etprof.reports import FORMATS
from scripted_device import a_runnable_plan, run_scripted

Capture = pytest.CaptureFixture[str]

FILES = {each.file for each in FORMATS.values() if each.file and not each.on_request}
SUMMARIES = {"model_pipeline_summary.json", "model_pipeline_summary.md"}
TIME = re.compile(r"\d\s?(?:ns|us|µs|ms|s)\b|\d\.\d\dx|_ms\b")


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_every_format_is_written_into_the_run_by_default(run_dir: Path, capsys: Capture) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir)]) == 0
    assert files_in(run_dir) - before == FILES | SUMMARIES
    charts = {path.name for path in (run_dir / "charts").iterdir()}
    assert {"latency.svg", "latency.png", "waterfall_operators.svg"} <= charts
    markdown = (run_dir / "report.md").read_text(encoding="utf-8")
    linked = {part.split(")")[0] for part in markdown.split("](charts/")[1:]}
    assert linked
    assert linked <= charts
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "report ok"
    assert set(said[1:-1]) == {str(run_dir / name) for name in FILES}
    assert re.fullmatch(r"and \d+ tables and statistics beside them", said[-1])


def test_the_files_for_model_explorer_are_written_on_request(run_dir: Path, capsys: Capture) -> None:
    assert main(["report", str(run_dir), "--format", "model-explorer"]) == 0
    assert capsys.readouterr().out.splitlines() == ["report ok", str(run_dir / "model_explorer.json")]
    (graph,) = json.loads((run_dir / "model_explorer.json").read_bytes())["graphs"]
    names = {path.name for path in (run_dir / "model_explorer").iterdir()}
    assert {"off_t1_time.json", "on_t1_share.json", "on_t1_against_off_t1_speedup.json"} <= names
    times = json.loads((run_dir / "model_explorer" / "on_t1_time.json").read_bytes())[graph["id"]]["results"]
    assert set(times) <= {node["id"] for node in graph["nodes"]}
    assert main(["validate", str(run_dir)]) == 0


def test_a_link_in_the_place_of_node_data_is_not_written_through(run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (run_dir / "model_explorer").symlink_to(tmp_path / "outside")
    assert main(["report", str(run_dir), "--format", "model-explorer"]) != 0
    assert not list((tmp_path / "outside").iterdir())


def test_out_and_title_go_where_they_are_told(run_dir: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "mine.html"
    assert main(["report", "--run-dir", str(run_dir), "--out", str(target), "--title", "My title"]) == 0
    assert "<title>My title</title>" in target.read_text(encoding="utf-8")
    assert files_in(target.parent) == {"mine.html"}
    assert main(["report", str(run_dir), "--out", str(tmp_path / "folder"), "--format", "json,csv"]) == 0
    assert files_in(tmp_path / "folder") == {"analysis_summary.json", "report.csv"}


def test_the_console_format_prints_and_writes_nothing(run_dir: Path, capsys: Capture) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir), "--format", "console"]) == 0
    assert "speed-up 2.00x" in " ".join(capsys.readouterr().out.split())
    assert files_in(run_dir) == before


def test_groups_of_operators_are_printed_and_nothing_is_written(run_dir: Path, capsys: Capture) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir), "--by", "kind"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Operators by kind (traced, per inference); baseline: off, candidate: on")
    assert "layer kind" in said
    assert files_in(run_dir) == before
    assert main(["report", str(run_dir), "--by", "layer"]) == 2
    assert "Known: kind, module, shape." in capsys.readouterr().err


def test_the_analysis_is_files_and_a_summary_on_the_console(run_dir: Path, capsys: Capture) -> None:
    line = ["report", str(run_dir), "--format", "json,tables,statistics,console"]
    assert main(line) == 0
    assert "Convolution" in capsys.readouterr().out
    assert (run_dir / "analysis_summary.json").is_file()
    assert (run_dir / "on" / "on_t1_ops_stats.csv").is_file()
    assert (run_dir / "on" / "on_t1_robust_stats.json").is_file()
    assert not (run_dir / "report.md").exists()
    assert main([*line, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("report ok\n")
    assert "Convolution" not in said


def test_latency_prints_the_robust_statistics_and_writes_them(run_dir: Path, capsys: Capture) -> None:
    assert main(["report", str(run_dir), "--format", "latency,statistics"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^steady, untraced +off, 1 thread +on, 1 thread$", said, re.M)
    assert re.search(r"^median +4\.01 ms +2\.00 ms$", said, re.M)
    assert re.search(r"^iterations in blocks +15 in 3 +15 in 3$", said, re.M)
    stats = json.loads((run_dir / "on" / "on_t1_robust_stats.json").read_text())
    assert stats["median_ms"] == pytest.approx(2.004)
    assert len(stats["samples_by_block"]) == 3
    assert not (run_dir / "on" / "on_t1_ops_stats.csv").exists(), "latency leaves the tables alone"


def test_latency_alone_writes_nothing(run_dir: Path, capsys: Capture) -> None:
    before = sorted(run_dir.rglob("*"))
    assert main(["report", str(run_dir), "--format", "latency"]) == 0
    assert "report ok" not in capsys.readouterr().out
    assert sorted(run_dir.rglob("*")) == before


@pytest.mark.parametrize("wanted", ["latency", "console"])
@pytest.mark.parametrize("width", [80, 100, 160])
def test_names_stand_whole_at_every_width(
    wanted: str, width: int, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("mobilenet_v3_without_avx512_vnni", "mobilenet_v3_with_avx512_and_vnni")
    plan = a_runnable_plan(tmp_path, blocks=2)
    experiments = tuple(replace(each, name=name) for each, name in zip(plan.experiments, names, strict=True))
    pair = replace(plan.pairs[0], baseline=names[0], candidate=names[1])
    run_scripted(replace(plan, experiments=experiments, pairs=(pair,)))
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["report", str(plan.output_root), "--format", wanted]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    labels = [f"{name}, 1 thread" for name in names]
    rows = [*labels, *(("median", "outliers (mild, severe)") if wanted == "latency" else ("Convolution", "end to end"))]
    for name in rows:
        assert any(name in line for line in lines), name


def test_wide_shows_what_does_not_fit(run_dir: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "45")
    assert main(["report", str(run_dir), "--format", "console,latency"]) == 0
    assert "not shown at this width: MAD" in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(run_dir), "--format", "console,latency", "--wide"]) == 0
    said = capsys.readouterr().out
    assert "not shown" not in said
    assert re.search(r"^variant +median +MAD +p5 +p95 +iterations$", said, re.M)
    assert re.search(r"^steady, untraced +off, 1 thread +on, 1 thread$", said, re.M)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "htlm"], "Did you mean 'html'"),
        (["--out", "report.pdf"], "chosen by its suffix"),
        (["--out", "report.md", "--format", "md,html"], "A file holds one format"),
        (["--out", "report.md", "--format", "html"], "A file holds one format"),
        (["--model", "none.pte"], "There is no model none.pte"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_written(
    arguments: list[str], said: str, run_dir: Path, capsys: Capture
) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert files_in(run_dir) == before


def test_a_model_that_was_not_measured_is_refused(run_dir: Path, capsys: Capture) -> None:
    other = run_dir / "other.pte"
    other.write_bytes(b"another")
    assert main(["report", str(run_dir), "--model", str(other)]) == 2
    assert "is not the model that" in capsys.readouterr().err
    assert main(["report", str(run_dir), "--model", str(run_dir.parents[1] / "model.pte")]) == 0


def test_runs_are_combined_on_one_page(run_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    other = tmp_path / "out_other" / "runs" / "linux"
    shutil.copytree(run_dir, other)
    target = tmp_path / "combined.json"
    assert main(["report", str(run_dir), str(other), "--out", str(target)]) == 0
    assert capsys.readouterr().out == f"report ok\n{target}\n"
    assert list(json.loads(target.read_text(encoding="utf-8"))["reports"]) == [
        "out_model/runs/linux",
        "out_other/runs/linux",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "A run was given twice."),
        (["--out", "page.pdf"], ".html, .md, .json"),
        (["--format", "md"], "--format is for one run."),
        (["--model", "m.pte"], "--model is for one run."),
    ],
)
def test_what_a_combined_page_cannot_be_is_refused(
    options: list[str], said: str, run_dir: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(run_dir), "--run-dir", str(run_dir), *options]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))


def test_a_folder_of_the_older_kit_is_reported_with_what_it_lacks(run_dir: Path) -> None:
    (run_dir / "metrics.json").unlink()
    (run_dir / "manifest.json").write_text('{"model": "old.pte", "results": []}', encoding="utf-8")
    assert main(["report", str(run_dir)]) == 0
    text = (run_dir / "report.md").read_text(encoding="utf-8")
    assert "traced only, not timed" in text
    assert "Nothing is compared here" in text
    assert re.search(r"\| Convolution \| \d\.\d\d ms \|", text)


def test_traces_alone_are_analysed_without_both_json_files(run_dir: Path, capsys: Capture) -> None:
    for name in ("manifest.json", "metrics.json"):
        (run_dir / name).unlink()
    assert main(["report", str(run_dir), "--format", "console,json"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^Convolution +\d\.\d\d ms", said, re.M)
    variants = json.loads((run_dir / "analysis_summary.json").read_bytes())["variants"]
    assert [(each["experiment"], len(each["operators"]) > 0) for each in variants] == [("off", True), ("on", True)]
    assert not (run_dir / "manifest.json").exists(), "nothing is made up"


def test_an_emulated_run_shows_no_time_in_any_format(emulated_dir: Path, capsys: Capture) -> None:
    assert main(["report", str(emulated_dir), "--format", f"{','.join(FORMATS)},summary"]) == 0
    names = FILES | SUMMARIES | {"model_explorer.json"}
    texts = {name: (emulated_dir / name).read_text(encoding="utf-8") for name in names}
    texts["console"] = capsys.readouterr().out.partition("report ok")[0]
    for name, text in texts.items():
        assert NO_TIMES in text, name
    for name in ("report.md", "console"):
        assert not TIME.findall(texts[name]), name
    summary = json.loads(texts["analysis_summary.json"])
    assert [(v["latency"], v["accounting"], v["operators"], v["samples_ms"]) for v in summary["variants"]] == [
        (None, None, [], [])
    ] * 2
    assert [c["speedup"] for c in summary["comparisons"]] == [None]
    assert json.loads(texts["trace.json"])["traceEvents"] == []


def test_an_emulated_run_leaves_no_table_of_times(emulated_dir: Path, capsys: Capture) -> None:
    before = sorted(path for path in emulated_dir.glob("*/*"))
    assert main(["report", str(emulated_dir), "--format", "tables,statistics"]) == 0
    assert sorted(path for path in emulated_dir.glob("*/*")) == before
    assert main(["report", str(emulated_dir), "--format", "latency,statistics"]) == 1
    assert NO_TIMES in capsys.readouterr().err


def test_emulated_runs_on_one_page_show_no_time(emulated_dir: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(emulated_dir, other)
    for name in ("page.md", "page.html"):
        assert main(["report", str(emulated_dir), str(other), "--out", str(tmp_path / name)]) == 0
        assert NO_TIMES in (tmp_path / name).read_text(encoding="utf-8")
    assert not TIME.findall((tmp_path / "page.md").read_text(encoding="utf-8"))


def test_runs_of_two_systems_are_put_on_one_page(run_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    other, page = tmp_path / "copy", tmp_path / "both.md"
    shutil.copytree(run_dir, other)
    line = ["report", "--mac-dir", str(run_dir), "--android-dir", str(other), "--out", str(page)]
    assert main([*line, "--model-name", "SqueezeSAM"]) == 0
    assert page.read_text(encoding="utf-8").startswith("# SqueezeSAM\n")
    said = capsys.readouterr().err
    assert f"note: {run_dir} was measured on Linux" in said
    assert "not on macOS." in said
    assert f"note: {other} was measured on Linux" in said
    assert main(["report", "--mac-dir", str(run_dir), "--out", str(tmp_path / "one.md")]) == 0
