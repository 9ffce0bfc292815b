"""`etprof devices`: what it prints of devices that are there and of those that are not."""

import json
from pathlib import Path

import pytest

from builders import a_device_info
from etprof.app import peaks
from etprof.cli.main import main
from etprof.store.peaks_file import save_peaks
from peaks_builder import some_peaks
from scripted_kind import add_scripted_kind

Capture = pytest.CaptureFixture[str]


def test_a_device_is_described_in_lines_that_fit(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["devices", "show", "local"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "local"
    assert all(line.startswith("  ") for line in lines[1:])
    assert any(line.startswith("  features: ") for line in lines)
    assert max(map(len, lines)) <= 60


def test_a_device_that_cannot_be_used_says_why_and_exits_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["devices", "show", "local", "android:nowhere"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("local\n")
    assert "adb" in said.partition("android:nowhere\n")[2]


def test_all_kinds_are_listed_even_those_that_have_to_be_named(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["devices", "list"]) == 0
    names = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert [name.partition(":")[0].partition("[")[0] for name in names] == ["local", "emulated", "android", "ssh"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "moon"], "There is no device 'moon'."),
        (["clean", "local"], "Only android and ssh devices can be cleaned."),
        (["show"], "Missing argument 'DEVICE"),
        (["clean"], "Missing argument 'DEVICE"),
    ],
)
def test_a_device_that_is_none_is_refused(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["devices", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A device whose peaks are known."""
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path))
    save_peaks(peaks.cached_folder(a_device_info()), some_peaks())
    return add_scripted_kind(monkeypatch)


def test_peaks_are_two_tables_that_fit(measured: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["devices", "peaks", measured]) == 0
    said = capsys.readouterr().out
    assert said.startswith("this machine: A CPU (2 cores, x86_64), Linux 6\nmeasured: 2026-01-02")
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "AVX-512, fp32 GFLOP/s 200 \u00b10.0 % 400 \u00b10.0 %" in lines
    assert "AVX-512 VNNI, int8 Gop/s 800 \u00b10.0 % 1,600 \u00b10.0 %" in lines
    assert "L2 1.0 MiB read 100 \u00b10.0 % 200 \u00b10.0 %" in lines
    assert "clock: 3.00 GHz" in said
    assert max(map(len, said.splitlines())) <= 80


def test_peaks_are_given_as_json(measured: str, capsys: Capture) -> None:
    assert main(["devices", "peaks", measured, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema_version"], said["device"], said["cpu"]) == (1, "this machine", "A CPU")
    assert said["throughputs"][0] == {
        "loop": "sse_fp32", "threads": 1,
        "gmac_per_s": {"value": 25.0, "low": 25.0, "high": 25.0, "confidence": 0.95},
    }  # fmt: skip


def test_peaks_that_cannot_be_measured_are_an_error(measured: str, capsys: Capture) -> None:
    assert main(["devices", "peaks", measured, "--again"]) == 1
    said = capsys.readouterr().err
    assert "What the CPU of this machine can do was not measured" in said
    assert "hint: It needs the native runner" in said
