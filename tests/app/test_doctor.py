"""What the doctor reports about a machine, and when it says no."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app import doctor
from etprof.app.doctor import Check, Status, can_run, run_checks
from etprof.export.dependencies import TESTED


def by_name() -> dict[str, Check]:
    return {check.name: check for check in run_checks()}


def test_every_part_of_the_work_has_its_line() -> None:
    names = set(by_name())
    assert {"Python", "torch", "executorch", "torchao", "C++ compiler", "CMake", "native runner", "CPU"} <= names
    assert {"threads", "frequency governor", "adb", "ssh", "emulator", "ONNX Runtime"} <= names
    assert any(name.startswith("CPU feature ") for name in names)


def test_a_cmake_that_is_too_old_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "cmake"
    program.write_text("#!/bin/sh\necho 'cmake version 3.25.1'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(doctor, "cmake_path", lambda: str(program))
    check = by_name()["CMake"]
    assert (check.status, check.found) == (Status.WARNING, "3.25.1, but 3.28 or newer is needed")
    assert check.advice == 'Run: pip install "cmake>=3.28" ninja'


def with_version(monkeypatch: pytest.MonkeyPatch, package: str, version: str | None) -> Check:
    versions = {**TESTED, package: version}
    monkeypatch.setattr(doctor, "installed_version", versions.get)
    return by_name()[package]


@pytest.mark.parametrize("version", ["2.13.0", "2.13.0+cpu"])
def test_the_tested_version_needs_no_remark(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    check = with_version(monkeypatch, "torch", version)
    assert (check.status, check.found, check.advice) == (Status.OK, version, "")


def test_a_newer_version_is_tried_and_the_tested_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check = with_version(monkeypatch, "executorch", "1.7.0")
    assert (check.status, check.found) == (Status.OK, "1.7.0 (tested: 1.5.1)")


def test_an_older_version_is_named_with_the_range(monkeypatch: pytest.MonkeyPatch) -> None:
    check = with_version(monkeypatch, "torch", "2.5.0")
    assert (check.status, check.found) == (Status.MISSING, "2.5.0, but >=2.13 is needed")


def on_platform(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.machine", lambda: machine)


@pytest.mark.parametrize(("system", "machine"), [("Linux", "x86_64"), ("Linux", "aarch64"), ("Darwin", "arm64")])
def test_missing_packages_are_named_with_the_commands_of_this_platform(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    on_platform(monkeypatch, system, machine)
    torch = with_version(monkeypatch, "torch", None)
    assert (torch.status, torch.found) == (Status.MISSING, "not installed")
    assert torch.advice.startswith("First and by itself")
    assert torch.advice.endswith("run: pip install torch==2.13.0")
    assert ("the CPU build is enough" in torch.advice) == (system == "Linux")
    assert with_version(monkeypatch, "executorch", None).advice == "Run: pip install executorch==1.5.1"


def test_a_platform_without_a_wheel_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    on_platform(monkeypatch, "Windows", "AMD64")
    advice = with_version(monkeypatch, "executorch", None).advice
    assert advice == "executorch has no wheel for Windows AMD64; use Linux or a Mac with Apple silicon."


@pytest.mark.parametrize(("version", "status"), [((3, 10, 14), Status.MISSING), ((3, 11, 0), Status.OK)])
def test_python_3_11_is_the_oldest(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int, int], status: Status
) -> None:
    monkeypatch.setattr("sys.version_info", version)
    check = doctor._check_python()
    assert (check.status, check.found) == (status, ".".join(map(str, version)))


def test_only_what_the_main_job_needs_can_make_it_say_no() -> None:
    needed = Check("torch", Status.OK, "2.13.0", required=True)
    wanted = Check("adb", Status.INFO, "not found")
    assert can_run([needed, wanted, Check("governor", Status.WARNING, "powersave")])
    assert not can_run([replace(needed, status=Status.MISSING), wanted])


def test_another_runtime_is_there_when_all_of_its_packages_are(monkeypatch: pytest.MonkeyPatch) -> None:
    versions: dict[str, str | None] = {**TESTED, "onnxruntime": "1.31.0", "onnx": "1.23.0", "onnxscript": "0.7.1"}
    monkeypatch.setattr(doctor, "installed_version", versions.get)
    check = by_name()["ONNX Runtime"]
    assert (check.status, check.found) == (Status.OK, "onnxruntime 1.31.0, onnx 1.23.0, onnxscript 0.7.1")
    versions["onnxscript"] = None
    check = by_name()["ONNX Runtime"]
    assert (check.status, check.found) == (Status.INFO, "no onnxscript")
    assert check.advice.startswith("Needed to compare with ONNX Runtime only. Run: pip install onnxscript")
    assert can_run([check]), "nothing else needs it"


def test_a_compiler_that_only_asks_to_be_installed_is_no_compiler(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shim = tmp_path / "c++"
    shim.write_text("#!/bin/sh\necho 'xcode-select: note: no developer tools' >&2\nexit 1\n", encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setattr("sys.platform", "darwin")
    check = doctor._check_compiler(str(shim))
    assert (check.status, check.advice) == (Status.WARNING, "Run: xcode-select --install")
    assert "no developer tools" in check.found
    assert doctor._check_compiler(None).advice == "Run: xcode-select --install"
