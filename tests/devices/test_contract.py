"""What every device promises, asserted over each of them in the same words."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adbd import SERIAL
from etprof.core.plan import Block, Experiment, Warmup
from etprof.core.run import Job
from etprof.device_choice import open_device, parse_device
from etprof.devices import android, ssh
from etprof.devices.base import Device
from etprof.devices.recorded import RecordedDevice
from etprof.pipeline import run_plan
from etprof.store.layout import block_files
from scripted_device import Witness, a_runnable_plan, scripted_device
from scripted_remote import scripted_remote
from sshd import HOST


@contextmanager
def a_local_device(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    yield scripted_device()


@contextmanager
def a_recorded_device(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    yield a_recording(folder)


@contextmanager
def an_emulated_device(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    emulator = request.getfixturevalue("emulator")
    with open_device(replace(parse_device("emulated"), emulator=emulator)) as opened:
        yield opened.device


@contextmanager
def an_ssh_device(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    request.getfixturevalue("sshd")
    with scripted_remote(ssh.open_shell(HOST), request.getfixturevalue("device_folder")) as device:
        yield device


@contextmanager
def an_android_device(request: pytest.FixtureRequest, folder: Path) -> Iterator[Device]:
    request.getfixturevalue("adbd")
    with scripted_remote(android.open_shell(SERIAL), request.getfixturevalue("device_folder")) as device:
        yield device


DEVICES: dict[str, Callable[[pytest.FixtureRequest, Path], AbstractContextManager[Device]]] = {
    "local": a_local_device,
    "recorded": a_recorded_device,
    "emulated": an_emulated_device,
    "ssh": an_ssh_device,
    "android": an_android_device,
}


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Device]:
    with DEVICES[request.param](request, tmp_path) as opened:
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


def a_recording(folder: Path, on: str = "well") -> RecordedDevice:
    folder.mkdir(exist_ok=True)
    plan = replace(a_runnable_plan(folder, on=on, blocks=2), output_root=folder / "recording")
    session = run_plan(plan, scripted_device(), Witness(), command="test")
    return RecordedDevice(folder / "recording", session)


def a_job(folder: Path, index: int = 0) -> Job:
    plan = a_runnable_plan(folder)
    files = block_files("on", 1, index)
    job = Job(
        block=Block(plan.experiment("on"), 1, index),
        model=plan.model,
        inputs=plan.inputs,
        result=folder / files.result,
        etdump=folder / files.etdump,
        log=folder / files.log,
        outputs=folder / files.outputs,
        timeout_s=30.0,
    )
    job.log.parent.mkdir(parents=True, exist_ok=True)
    return job


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


def test_a_recording_without_the_block_says_so_and_gives_nothing(tmp_path: Path) -> None:
    job = a_job(tmp_path, index=9)
    outcome = a_recording(tmp_path).run(job)
    assert outcome.problem == "the recording holds no block 9 of on_t1"
    assert not job.etdump.exists()


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
    experiment = replace(job.block.experiment, extra_args=("--behave", "refuse"))
    return replace(job, block=replace(job.block, experiment=experiment))
