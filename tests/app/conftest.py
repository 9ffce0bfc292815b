"""A real run, made once: toy_cnn with this CPU's best extension hidden and shown, by the native runner."""

from pathlib import Path

import pytest

from etprof.app.devices import DeviceRequest
from etprof.app.profiling import RunOptions, profile
from etprof.core.plan import Schedule
from etprof.core.run import Session
from etprof.runner.toolchain import compiler_path
from parts import need
from real_devices import adbd, device_folder, emulator, sshd
from scripted_device import Witness

__all__ = ["adbd", "device_folder", "emulator", "real_run", "sshd"]


@pytest.fixture(scope="session")
def real_run(toy_cnn: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    need(compiler_path(), "there is no C++ compiler")
    # Six rounds on a quiet machine; a busy one needs more.
    measured = profile(
        toy_cnn / "toy_cnn_xnnpack_fp32.pte",
        DeviceRequest("local", runner="native"),
        Witness(),
        RunOptions("etprof profile toy_cnn_xnnpack_fp32.pte"),
        output_root=tmp_path_factory.mktemp("real_run") / "run",
        schedule=Schedule(max_blocks=40, time_budget_s=150.0, retries=0),
    )
    return measured.session
