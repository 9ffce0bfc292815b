"""`etprof compare` as typed."""

import shutil
from pathlib import Path

import pytest

from etprof.cli.main import main
from etprof.core.units import NO_TIMES

Capture = pytest.CaptureFixture[str]


def test_two_runs_are_compared_on_the_console_and_in_markdown(
    run_dir: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    again = tmp_path / "again" / "linux"
    shutil.copytree(run_dir, again)
    page = tmp_path / "comparison.md"
    assert main(["compare", str(run_dir), str(again), "--out", str(page)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == str(page)
    assert max(len(line) for line in lines[:-1]) <= 100
    assert "1.00x" in " ".join(lines)
    text = page.read_text(encoding="utf-8")
    assert "1.00x" in text
    assert ".svg" not in text
    assert not (tmp_path / "charts").exists(), "nothing lies beside it"
    assert main(["compare", str(run_dir), str(again), "--out", str(page), "--charts"]) == 0
    assert ".svg" in page.read_text(encoding="utf-8")
    assert list((tmp_path / "charts").glob("*.svg"))


def test_variants_of_other_names_are_matched_by_the_map(run_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    again = tmp_path / "again"
    shutil.copytree(run_dir, again)
    assert main(["compare", str(run_dir), str(again), "--map", "off=on", "--map", "on_t1=off"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "on against" in shown
    for wrong in ("off", "off=", "=on"):
        assert main(["compare", str(run_dir), str(again), "--map", wrong]) == 2
        assert "OLD=NEW" in capsys.readouterr().err


def test_emulated_runs_are_not_compared(emulated_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    again = tmp_path / "again"
    shutil.copytree(emulated_dir, again)
    assert main(["compare", str(emulated_dir), str(again)]) == 2
    assert NO_TIMES in capsys.readouterr().err
