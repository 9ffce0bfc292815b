"""`etprof validate` as typed: exit code 0 for a run that is whole, 1 with every problem for one that is not."""

from pathlib import Path

import pytest

from etprof.cli.main import main

Capture = pytest.CaptureFixture[str]


def test_a_whole_run_is_called_so(run_dir: Path, capsys: Capture) -> None:
    for line in (["validate", str(run_dir)], ["validate", "--results", str(run_dir), "--deep"]):
        assert main(line) == 0
        assert capsys.readouterr().out == f"{run_dir}: every expected file is there and agrees with the manifest\n"


def test_each_problem_has_a_line(run_dir: Path, capsys: Capture) -> None:
    (run_dir / "on" / "on_t1.etdump").unlink()
    (run_dir / "off" / "off_t1.log").unlink()
    assert main(["validate", str(run_dir)]) == 1
    *problems, count = capsys.readouterr().out.splitlines()
    assert count == f"problems in {run_dir}: {len(problems)}"
    assert all(line.startswith("problem: ") for line in problems)
    assert any("on_t1.etdump" in line for line in problems)


def test_only_deep_opens_every_trace(run_dir: Path, capsys: Capture) -> None:
    trace = run_dir / "on" / "on_t1.etdump"
    trace.write_bytes(trace.read_bytes()[:40])
    assert main(["validate", str(run_dir)]) == 0
    assert main(["validate", str(run_dir), "--deep"]) == 1
    assert "on_t1.etdump" in capsys.readouterr().out
