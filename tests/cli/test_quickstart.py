"""The first thing a new user types."""

import re
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import main
from etprof.devices.local import local_platform
from etprof.runner.toolchain import compiler_path
from parts import need


@pytest.mark.exhaustive
def test_quickstart_exports_runs_and_reports_and_can_be_repeated(tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    first = run_etprof("quickstart", "--out", str(tmp_path / "out_toy_cnn"))
    positions = [first.index(f"\n{stage} ok\n") for stage in ("export", "pipeline", "report")]
    assert positions == sorted(positions)
    steps = [first.index(f"step {number} of 4: ") for number in range(1, 5)]
    assert steps == sorted(steps)
    assert len(re.findall(r"^  took [\d.min ]+ s$", first, re.M)) == 4, "each step says how long it took"
    (report,) = tmp_path.glob("out_toy_cnn/runs/*/report.md")
    assert f"Open the report in a browser: {report.with_suffix('.html').as_uri()}\n" in first
    text = report.read_text()
    assert "interval" in text
    assert "End to end" in text
    second = run_etprof("quickstart", "--out", str(tmp_path / "out_toy_cnn"))
    assert "kept" in second, "the export is reused"
    assert len(list(tmp_path.glob("out_toy_cnn/runs/*"))) == 2, "the first run moved aside"


@pytest.mark.exhaustive
def test_quickstart_under_emulation_says_which_operators_execute_sme2_kernels(emulator: str, tmp_path: Path) -> None:
    said = run_etprof("quickstart", "--platform", "emulated", "--out", str(tmp_path / "out_toy_cnn"))
    off, on = (said.index(f"emulated_sme2_{side}, 1 thread: SME2 executed: ") for side in ("off", "on"))
    assert "SME2 executed: no, in none of 6 Convolution/GEMM operators" in said[off:on]
    assert re.search(r"SME2 executed: yes, in [1-6] of 6 Convolution/GEMM operators", said[on:])
    # A row for each operator, with its kernels below.
    assert re.search(r"^Convolution \(NHWC, PF32\) IGEMM #2 +yes ", said[on:], re.M)
    assert re.search(r"^HardSwish \(NC\) #1 +(no|too few samples) ", said[on:], re.M)
    assert "kai_kernel_matmul" in said[on:]
    assert "\npipeline ok\n" in said
    report = tmp_path / "out_toy_cnn/runs/emulated/report.html"
    assert f"Open the report in a browser: {report.as_uri()}\n" in said


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
