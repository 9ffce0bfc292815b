"""The emulated device: described without a runner, and refused where a runner cannot be emulated."""

from pathlib import Path

import pytest

from device_builder import a_qemu
from etprof.app.device_parts import RunnerParts
from etprof.core.errors import DependencyError, UsageError
from etprof.core.plan import Experiment
from etprof.devices.emulated import KIND
from etprof.devices.kind import DeviceRequest
from etprof.devices.usable_cores import count_usable_cores


def test_it_is_described_before_there_is_a_runner(tmp_path: Path) -> None:
    info = KIND.describe(DeviceRequest("emulated", emulator=str(a_qemu(tmp_path, "11.1.0"))), RunnerParts())
    assert (info.architecture, info.cpu_model) == ("arm64", "QEMU 11.1, CPU max")
    assert (info.features, info.cpu_count) == (("sme2",), count_usable_cores())


def test_the_emulator_kept_in_the_cache_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    a_qemu(tmp_path / "emulator", "99.2.0")
    assert KIND.describe(DeviceRequest("emulated"), RunnerParts()).cpu_model == "QEMU 99.2, CPU max"


def test_a_runner_of_ones_own_cannot_be_emulated(tmp_path: Path) -> None:
    request = DeviceRequest("emulated", experiments=(Experiment("on", runner_path=tmp_path / "executor_runner"),))
    with (
        pytest.raises(UsageError, match=r"executor_runner cannot be emulated") as raised,
        KIND.open(request, RunnerParts()),
    ):
        pass
    assert "Omit `runner_path`" in raised.value.hint


def test_an_emulator_without_sme2_is_refused(tmp_path: Path) -> None:
    request = DeviceRequest("emulated", emulator=str(a_qemu(tmp_path, "8.0.0")))
    with (
        pytest.raises(DependencyError, match=r"QEMU 8\.0, which does not emulate SME2"),
        KIND.open(request, RunnerParts()),
    ):
        pass
