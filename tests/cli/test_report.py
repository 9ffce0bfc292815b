"""`etprof report` and `etprof combine` on a recorded run's folder, through the command line."""

import json
from pathlib import Path

import pytest

from builders import a_plan, a_session, paired_results
from conftest import ROOT
from etprof.cli.main import main
from etprof.store.session_file import save_session
from report_builder import a_trace

FILES = {"report.md", "report.html", "analysis_summary.json", "report.csv", "trace.json"}


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A finished run: session files and a trace for each block."""
    folder = tmp_path / "out_model" / "runs" / "linux"
    results = paired_results([4.8, 4.81, 4.79, 4.8], [2.0, 2.01, 1.99, 2.0])
    for experiment, scale in (("off", 1.0), ("on", 0.25)):
        (folder / experiment).mkdir(parents=True)
        a_trace(tmp_path, scale)
        (tmp_path / f"trace_{scale}_3.etdump").rename(folder / experiment / f"{experiment}_t1.etdump")
    save_session(folder, a_session(a_plan(folder), results))
    return folder


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_every_format_is_written_into_the_run_by_default(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir)]) == 0
    assert files_in(run_dir) - before == FILES
    charts = {path.name for path in (run_dir / "charts").iterdir()}
    assert {"latency.svg", "latency.png", "waterfall_operators.svg"} <= charts
    markdown = (run_dir / "report.md").read_text(encoding="utf-8")
    linked = {part.split(")")[0] for part in markdown.split("](charts/")[1:]}
    assert linked
    assert linked <= charts
    assert "report ok" in capsys.readouterr().out


def test_out_and_title_go_where_they_are_told(run_dir: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "mine.html"
    assert main(["report", "--run-dir", str(run_dir), "--out", str(target), "--title", "My title"]) == 0
    assert "<title>My title</title>" in target.read_text(encoding="utf-8")
    assert files_in(target.parent) == {"mine.html"}
    assert main(["report", str(run_dir), "--out", str(tmp_path / "folder"), "--format", "json,csv"]) == 0
    assert files_in(tmp_path / "folder") == {"analysis_summary.json", "report.csv"}


def test_the_console_format_prints_and_writes_nothing(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir), "--format", "console"]) == 0
    assert "speed-up 2.40x" in capsys.readouterr().out
    assert files_in(run_dir) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "htlm"], "Did you mean 'html'"),
        (["--out", "report.pdf"], "told by its ending"),
        (["--out", "report.md", "--format", "md,html"], "A file holds one format"),
        (["--out", "report.md", "--format", "html"], "A file holds one format"),
    ],
)
def test_a_wrong_request_is_refused_before_any_work(
    arguments: list[str], said: str, run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_in(run_dir)
    assert main(["report", str(run_dir), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert files_in(run_dir) == before


def test_runs_are_combined_on_one_page(run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "out_other" / "runs" / "linux"
    other.parent.mkdir(parents=True)
    run_dir.rename(other)
    save_session(run_dir, a_session(a_plan(run_dir), paired_results([1.0] * 4, [1.0] * 4)))
    for experiment in ("off", "on"):
        (run_dir / experiment).mkdir()
        trace = other / experiment / f"{experiment}_t1.etdump"
        (run_dir / experiment / trace.name).write_bytes(trace.read_bytes())
    target = tmp_path / "combined.json"
    assert main(["combine", str(run_dir), str(other), "--out", str(target)]) == 0
    assert list(json.loads(target.read_text(encoding="utf-8"))["reports"]) == [
        "out_model/runs/linux",
        "out_other/runs/linux",
    ]
    assert main(["combine", str(run_dir), str(run_dir)]) == 2
    assert main(["combine", str(run_dir), "--out", "page.pdf"]) == 2
    said = capsys.readouterr().err
    assert "given twice" in said
    assert ".html, .md, .json" in said


def test_a_folder_of_the_older_kit_is_reported_with_what_it_lacks(run_dir: Path) -> None:
    (run_dir / "metrics.json").unlink()
    (run_dir / "manifest.json").write_text('{"model": "old.pte", "results": []}', encoding="utf-8")
    assert main(["report", str(run_dir)]) == 0
    text = (run_dir / "report.md").read_text(encoding="utf-8")
    assert "traced only, not timed" in text
    assert "Nothing is compared here" in text
    assert "| Convolution | 3.00 ms | 62.5 % |" in text


@pytest.mark.parametrize("door", ["generate_report.py", "generate_combined_report.py"])
def test_the_doors_lead_to_the_commands(door: str) -> None:
    text = (ROOT / "model_profiling" / "scripts" / door).read_text(encoding="utf-8")
    assert f'main(["{"combine" if "combined" in door else "report"}"' in text
