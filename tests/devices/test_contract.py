"""What every device promises, asserted for each of them in the same words."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from adbd import SERIAL
from etprof.app.devices import DeviceRequest, open_device
from etprof.core.plan import Block, Experiment, Warmup
from etprof.core.run import Job
from etprof.devices import DEVICES, android, ssh
from etprof.devices.base import Device
from etprof.devices.recorded import RecordedDevice
from scripted_device import a_job, a_recording, scripted_device, with_experiment
from scripted_remote import scripted_remote
from sshd import HOST

# They start daemons and emulators.


@contextmanager
def an_emulated_device(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    with open_device(DeviceRequest("emulated", emulator=request.getfixturevalue("emulator"))) as opened:
        yield opened.device


def an_ssh_device(request: pytest.FixtureRequest, folder: Path) -> AbstractContextManager[Device]:
    request.getfixturevalue("sshd")
    return scripted_remote(ssh.open_shell(HOST), request.getfixturevalue("device_folder"))


def an_android_device(request: pytest.FixtureRequest, folder: Path) -> AbstractContextManager[Device]:
    request.getfixturevalue("adbd")
    return scripted_remote(android.open_shell(SERIAL), request.getfixturevalue("device_folder"))


@contextmanager
def a_device_that_needs_nothing(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    with open_device(DeviceRequest(request.param)) as opened:
        yield opened.device


# How each kind is opened in a test; a kind that needs nothing special is not listed.
OPENERS: dict[str, Callable[[pytest.FixtureRequest, Path], AbstractContextManager[Device]]] = {
    "local": lambda _, folder: nullcontext(scripted_device()),
    "recorded": lambda _, folder: nullcontext(a_recording(folder)),
    "emulated": an_emulated_device,
    "ssh": an_ssh_device,
    "android": an_android_device,
}


@pytest.fixture(params=[*DEVICES, "recorded"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Device]:
    with OPENERS.get(request.param, a_device_that_needs_nothing)(request, tmp_path) as opened:
        yield opened


@pytest.fixture
def job(request: pytest.FixtureRequest, device: Device, tmp_path: Path) -> Job:
    """A job the device can run: the real runner under QEMU needs a real model, the scripted one does not."""
    made = a_job(tmp_path)
    if device.platform != "emulated":
        return made
    artifacts: Path = request.getfixturevalue("toy_cnn")
    return replace(
        made,
        block=Block(Experiment("on", runs=1, traced_runs=1, warmup=Warmup(0, 0)), 1, 0),
        model=artifacts / "toy_cnn_xnnpack_fp32.pte",
        inputs=(artifacts / "toy_cnn_xnnpack_fp32.input_0.bin",),
    )


def test_a_device_describes_itself(device: Device) -> None:
    info = device.describe()
    assert info.cpu_model
    assert info.cpu_count > 0


def test_after_a_job_its_files_are_in_place(device: Device, job: Job) -> None:
    outcome = device.run(job)
    assert (outcome.exit_code, outcome.problem) == (0, "")
    assert job.log.exists()
    for path in (job.result, job.etdump, job.outputs / "output_0.bin"):
        assert path.stat().st_size > 0


def test_nothing_stale_survives_a_job(device: Device, job: Job) -> None:
    job.outputs.mkdir(parents=True)
    for path in (job.result, job.etdump, job.log, job.outputs / "output_7.bin"):
        path.write_text("stale")
    device.run(job)
    assert not (job.outputs / "output_7.bin").exists()
    assert b"stale" not in job.result.read_bytes() + job.etdump.read_bytes() + job.log.read_bytes()


def test_a_failed_runner_is_an_outcome_and_its_words_are_kept(device: Device, job: Job, tmp_path: Path) -> None:
    if isinstance(device, RecordedDevice):
        device = a_recording(tmp_path / "failed", on="refuse")
    failing = _without_model(job) if device.platform == "emulated" else _refusing(job)
    outcome = device.run(failing)
    assert outcome.exit_code not in (0, None)
    assert outcome.problem.startswith("exit code")
    assert "error:" in job.log.read_text()


def _without_model(job: Job) -> Job:
    return replace(job, model=job.model.with_name("nowhere.pte"))


def _refusing(job: Job) -> Job:
    return with_experiment(job, extra_args=("--behave", "refuse"))
