"""The first thing a new user types."""

from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import main
from etprof.devices.local import local_platform
from etprof.runner.toolchain import compiler_path
from parts import need


@pytest.mark.exhaustive
@pytest.mark.alone
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


@pytest.mark.parametrize(
    ("platform", "message"),
    [
        ("mac" if local_platform() == "linux" else "linux", f"This machine is {local_platform()}, not "),
        ("windows", "There is no platform 'windows'."),
    ],
)
def test_quickstart_on_a_platform_this_is_not_is_refused(platform: str, message: str) -> None:
    assert message in run_etprof("quickstart", "--platform", platform, expect=2)


def test_quickstart_needs_its_device_before_it_spends_time_on_an_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["quickstart", "--platform", "android", "--out", str(tmp_path / "out")]) == 1
    assert "adb is not installed" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
