"""The first thing a new user types."""

from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.runner.toolchain import compiler_path
from parts import need


@pytest.mark.slow
def test_quickstart_exports_runs_and_reports_and_can_be_repeated(tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    first = run_etprof("quickstart", "--out", str(tmp_path / "out_toy_cnn"))
    positions = [first.index(f"\n{stage} ok\n") for stage in ("export", "pipeline", "report")]
    assert positions == sorted(positions)
    (report,) = tmp_path.glob("out_toy_cnn/runs/*/report.md")
    text = report.read_text()
    assert "interval" in text
    assert "End to end" in text
    second = run_etprof("quickstart", "--out", str(tmp_path / "out_toy_cnn"))
    assert "kept" in second, "the export is reused"
    assert len(list(tmp_path.glob("out_toy_cnn/runs/*"))) == 2, "the first run moved aside"


def test_quickstart_on_a_platform_this_is_not_is_refused() -> None:
    assert "This machine is" in run_etprof("quickstart", "--platform", "android", expect=2)
