"""`etprof history` on folders of runs, and a check against a history."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import etprof
from etprof.cli.main import main
from etprof.store.session_file import load_session, save_session
from history_builder import SLOWER, STEADY, add_days
from scripted_device import a_steady_run

pytest.importorskip("duckdb")
pytest.importorskip("ruptures")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "h.duckdb"


def test_runs_are_added_once_listed_and_queried(run_dir: Path, file: Path, capsys: Capture) -> None:
    for expected in ("1 run of 1", "0 runs of 1"):
        assert main(["history", "add", str(run_dir), "--file", str(file), "--commit", "abc"]) == 0
        assert expected in capsys.readouterr().out
    assert main(["history", "list", "--file", str(file), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert run["commit"] == "abc"
    assert run["folder"] == str(run_dir)
    query = "select name, mean_ms from operators where variant = 'on_t1' order by mean_ms desc"
    assert main(["history", "sql", query, "--file", str(file), "--csv"]) == 0
    names, *rows = capsys.readouterr().out.splitlines()
    assert names == "name,mean_ms"
    assert rows


def test_the_list_and_the_answer_fit_eighty_columns(
    file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    add_days(file, STEADY + SLOWER)
    for words in (["list"], ["sql", "select run_id, model from runs"], ["trend", "model", "--by", "version"]):
        assert main(["history", *words, "--file", str(file)]) == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
    assert "8.0 % slower" in text


def test_a_query_that_would_write_is_refused(run_dir: Path, file: Path, capsys: Capture) -> None:
    main(["history", "add", str(run_dir), "--file", str(file)])
    assert main(["history", "sql", "drop table runs", "--file", str(file)]) == 2
    assert "read" in capsys.readouterr().err


def test_a_check_against_a_history_judges_by_its_stable_runs(tmp_path: Path, file: Path, capsys: Capture) -> None:
    for number, scale in enumerate((1.0, 1.001, 0.999, 1.0)):
        folder = a_steady_run(tmp_path / f"day{number}", scale)
        session = load_session(folder)
        save_session(folder, replace(session, started_at=f"2026-01-0{number + 1}T00:00:00+00:00"))
        assert main(["history", "add", str(folder), "--file", str(file)]) == 0
    same, slower = a_steady_run(tmp_path / "same"), a_steady_run(tmp_path / "slower", 1.2)
    capsys.readouterr()
    for folder, code, verdict in ((same, 0, "pass"), (slower, 1, "fail")):
        assert main(["check", str(folder), "--against-history", str(file)]) == code
        text = capsys.readouterr().out
        assert f"**{verdict}**" in text
        assert "4 stable runs since 2026-01-01" in text
        assert "outputs are not compared" in text
    # A run that is in the history is not judged by itself.
    assert main(["check", str(tmp_path / "day0" / "runs" / "linux"), "--against-history", str(file)]) == 0
    assert "3 stable runs" in capsys.readouterr().out


def test_too_few_runs_are_inconclusive_and_no_known_good_run_is_wrong_usage(
    run_dir: Path, file: Path, capsys: Capture
) -> None:
    main(["history", "add", str(run_dir), "--file", str(file)])
    assert main(["check", str(run_dir), "--against-history", str(file)]) == 3
    assert "0 stable runs" in capsys.readouterr().out
    assert main(["check", str(run_dir)]) == 2
    assert "--against-history" in capsys.readouterr().err


def test_python_gives_the_same(run_dir: Path, file: Path, tmp_path: Path) -> None:
    history = etprof.History(file)
    assert history.add(run_dir, etprof.load_run(run_dir)) == ["added", "unchanged"]
    assert len(history.sql("select * from runs")) == 1
    assert {trend.variant for trend in history.trends()} == {"off_t1", "on_t1"}
    assert history.write_report(tmp_path / "page.html").is_file()
    assert len(history.export_parquet(tmp_path / "tables")) == 6


def test_reports_of_the_last_runs_are_linked_from_the_page(run_dir: Path, file: Path, tmp_path: Path) -> None:
    etprof.load_run(run_dir).write_report(run_dir)
    etprof.History(file).add(run_dir)
    page = etprof.History(file).write_report(tmp_path / "page.html")
    assert 'href="out_model/runs/linux/report.html"' in page.read_text(encoding="utf-8")
