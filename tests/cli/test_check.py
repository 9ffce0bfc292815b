"""`etprof check` as CI uses it: the exit code is the verdict, the summary says why."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from etprof.cli.main import main
from etprof.core.units import NO_TIMES
from etprof.store.session_file import load_session
from model_files import a_model_file
from scripted_device import a_steady_run
from scripted_kind import add_scripted_kind

Capture = pytest.CaptureFixture[str]


def test_the_exit_code_is_0_1_or_3_and_the_summary_says_so(tmp_path: Path, capsys: Capture) -> None:
    good, same = a_steady_run(tmp_path / "good"), a_steady_run(tmp_path / "same")
    slower, short = a_steady_run(tmp_path / "slower", 1.2), a_steady_run(tmp_path / "short", blocks=2)
    summary = tmp_path / "summary.md"
    for folder, code, verdict in ((same, 0, "pass"), (slower, 1, "fail"), (short, 3, "inconclusive")):
        assert main(["check", str(folder), "--against", str(good), "--summary", str(summary)]) == code
        text = summary.read_text(encoding="utf-8")
        assert f"**{verdict}**" in text
        assert capsys.readouterr().out == text
    assert main(["check", str(slower), "--against", str(good), "--tolerance", "25"]) == 0
    assert "25.0 %" in capsys.readouterr().out
    assert main(["check", str(same), "--against", str(good), "--output-tolerance", "0.5"]) == 0
    assert "outputs may differ by 0.5 of the largest value" in capsys.readouterr().out


def test_an_emulated_run_is_inconclusive_and_shows_no_time(emulated_dir: Path, tmp_path: Path, capsys: Capture) -> None:
    again = tmp_path / "again"
    shutil.copytree(emulated_dir, again)
    assert main(["check", str(emulated_dir), "--against", str(again)]) == 3
    text = capsys.readouterr().out
    assert NO_TIMES in text
    assert not re.findall(r"\d ms\b", text)


@pytest.mark.parametrize("tolerance", ["-1", "much"])
def test_a_tolerance_that_is_no_share_is_refused(tolerance: str, run_dir: Path) -> None:
    assert main(["check", str(run_dir), "--against", str(run_dir), "--tolerance", tolerance]) == 2


def check_models(folder: Path, device: str, *options: str, **new_meta: Any) -> int:
    old = a_model_file(folder / "old", "net", eager="")
    new = a_model_file(folder / "new", "net", eager="", **new_meta)
    return main(["check", str(old), str(new), "--device", device, "--output-root", str(folder / "run"), *options])


def test_two_models_are_measured_interleaved_and_judged(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, summary = add_scripted_kind(monkeypatch), tmp_path / "summary.md"
    few = ("--blocks", "3", "--max-blocks", "3")
    assert check_models(tmp_path, device, *few, "--summary", str(summary)) == 0
    text = summary.read_text(encoding="utf-8")
    assert capsys.readouterr().out == text
    assert "| 1 thread | **pass** |" in text
    assert f"Checked: {tmp_path}/new/net.pte against {tmp_path}/old/net.pte" in text.replace("\\_", "_")
    session = load_session(tmp_path / "run")
    assert [result.experiment for result in session.results] == ["old", "new", "new", "old", "old", "new"]
    assert "report.html" in session.reports
    assert check_models(tmp_path / "short", device, "--blocks", "1", "--max-blocks", "1") == 3
    assert check_models(tmp_path / "q8", device, *few, precision="q8") == 1
    assert "precision changed from fp32 to q8" in capsys.readouterr().out


def test_two_models_can_be_rehearsed(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_models(tmp_path, add_scripted_kind(monkeypatch), "--blocks", "2", "--dry-run") == 0
    out = capsys.readouterr().out
    assert f"model {tmp_path}/old/net.pte, {tmp_path}/new/net.pte" in out
    assert "round 2: new_t1, old_t1" in out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("MODEL",), "One model has nothing to be checked against."),
        (("MODEL", "MODEL"), "was given twice; a model cannot be checked against itself."),
        (("MODEL", "elsewhere.pte"), "There is no model elsewhere.pte."),
        (("MODEL", "MODEL", "--against", "RUN"), "Two models are checked against each other."),
        (("RUN", "--against", "RUN", "--blocks", "3"), "--blocks is for two models, which are measured"),
        (("RUN",), "A check needs a known-good run."),
    ],
)
def test_what_cannot_be_checked_is_refused(
    arguments: tuple[str, ...], message: str, run_dir: Path, tmp_path: Path, capsys: Capture
) -> None:
    given = {"MODEL": str(a_model_file(tmp_path, "net")), "RUN": str(run_dir)}
    assert main(["check", *(given.get(each, each) for each in arguments)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
