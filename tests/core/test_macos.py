"""The answers of macOS as text: what programs print there, and nothing where they do not exist."""

from pathlib import Path

import pytest

from etprof.core import macos
from etprof.core.macos import parse_sysctls, parse_thermal_pressure, read_sysctls, read_thermal_pressure
from macos_text import HEAVY_PRESSURE, M4_CORES


def write_program(path: Path, printed: str, exit_code: int = 0) -> Path:
    path.write_text(f"#!/bin/sh\necho \"$@\" > {path}.asked\ncat <<'END'\n{printed}END\nexit {exit_code}\n", "utf-8")
    path.chmod(0o755)
    return path


def test_each_line_is_a_name_and_its_value() -> None:
    said = parse_sysctls(f"{M4_CORES}machdep.cpu.brand_string: Apple M4: Pro\nno colon\n")
    assert (said["hw.perflevel1.physicalcpu"], said["machdep.cpu.brand_string"]) == ("6", "Apple M4: Pro")
    assert "no colon" not in said


def test_names_that_are_not_known_leave_those_that_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(tmp_path / "sysctl", M4_CORES, exit_code=1)
    monkeypatch.setattr(macos, "_SYSCTL", program)
    assert read_sysctls("hw", "hw.unknown")["hw.ncpu"] == "10"
    assert Path(f"{program}.asked").read_text(encoding="utf-8") == "hw hw.unknown\n"


def test_a_system_without_the_program_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macos, "_SYSCTL", tmp_path / "none")
    assert read_sysctls("hw") == {}


@pytest.mark.parametrize(
    ("said", "level"),
    [
        (HEAVY_PRESSURE, 2),
        ("com.apple.system.thermalpressurelevel 0\n", 0),
        ("com.apple.system.thermalpressurelevel\n", None),
        ("com.apple.system.thermalpressurelevel: Failed with code 1\n", None),
        ("", None),
    ],
)
def test_the_thermal_pressure_is_a_level(said: str, level: int | None) -> None:
    assert parse_thermal_pressure(said) == level


def test_the_thermal_pressure_is_asked_for_on_macos_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(tmp_path / "notifyutil", HEAVY_PRESSURE)
    monkeypatch.setattr(macos, "_NOTIFYUTIL", program)
    monkeypatch.setattr("sys.platform", "linux")
    assert read_thermal_pressure() is None
    monkeypatch.setattr("sys.platform", "darwin")
    assert read_thermal_pressure() == 2
    assert Path(f"{program}.asked").read_text(encoding="utf-8") == "-g com.apple.system.thermalpressurelevel\n"
