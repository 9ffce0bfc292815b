"""`etprof check` as CI uses it: the exit code is the verdict, the summary says why."""

import re
import shutil
from pathlib import Path

import pytest

from etprof.cli.main import main
from etprof.core.units import NO_TIMES
from scripted_device import a_steady_run

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
