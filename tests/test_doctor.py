"""What the doctor says of a machine, and when it says no."""

import importlib.metadata
from dataclasses import replace

import pytest

from etprof.doctor import Check, Status, can_run, pinned_version, run_checks


def by_name() -> dict[str, Check]:
    return {check.name: check for check in run_checks()}


def test_every_part_of_the_work_has_its_line() -> None:
    names = set(by_name())
    assert {"Python", "torch", "executorch", "torchao", "C++ compiler", "CMake", "native runner", "CPU"} <= names
    assert {"threads", "frequency governor", "adb", "ssh", "emulator"} <= names
    assert any(name.startswith("CPU feature ") for name in names)


def test_pins_come_from_our_own_metadata() -> None:
    assert pinned_version("torch") == "2.13.0"
    assert pinned_version("executorch") == "1.5.1"
    assert pinned_version("no-such-package") == ""


def with_version(monkeypatch: pytest.MonkeyPatch, package: str, version: str | None) -> Check:
    real = importlib.metadata.version

    def pretended(name: str) -> str:
        if name != package:
            return real(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr("etprof.doctor.importlib.metadata.version", pretended)
    return by_name()[package]


def test_a_missing_package_is_told_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    check = with_version(monkeypatch, "executorch", None)
    assert check.status is Status.MISSING
    assert check.advice == "Install it: pip install executorch==1.5.1"


def test_a_wrong_version_is_told_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    check = with_version(monkeypatch, "torch", "2.5.0")
    assert (check.status, check.found) == (Status.MISSING, "2.5.0, but 2.13.0 is needed")


def test_a_local_build_of_the_right_version_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_version(monkeypatch, "torch", "2.13.0+cpu").status is Status.OK


def test_only_what_the_main_job_needs_can_make_it_say_no() -> None:
    needed = Check("torch", Status.OK, "2.13.0", required=True)
    wanted = Check("adb", Status.INFO, "not found")
    assert can_run([needed, wanted, Check("governor", Status.WARNING, "powersave")])
    assert not can_run([replace(needed, status=Status.MISSING), wanted])
