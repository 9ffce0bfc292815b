"""This machine as a device."""

import json
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info
from etprof.app.device_parts import RunnerParts
from etprof.core.errors import DeviceError
from etprof.core.run import Job
from etprof.devices.kind import DeviceRequest, HostRunner
from etprof.devices.local import KIND, LocalDevice
from etprof.devices.shell import Progress
from parts import need
from scripted_device import a_job, scripted_device, with_experiment
from stock_runner import make_stock_runner

pytestmark = pytest.mark.portable


def test_the_runner_keeps_to_the_cores_asked_for(tmp_path: Path) -> None:
    need(sys.platform.startswith("linux"), "core affinity is Linux's")
    job = with_experiment(a_job(tmp_path), cpu_affinity=(0,))
    before = os.sched_getaffinity(0)
    scripted_device().run(job)
    assert json.loads(job.result.read_text())["cpu_affinity"] == [0]
    assert os.sched_getaffinity(0) == before


def test_cores_that_are_not_there_are_refused_by_number(tmp_path: Path) -> None:
    need(sys.platform.startswith("linux"), "core affinity is Linux's")
    with pytest.raises(DeviceError, match="do not exist: 4000"):
        scripted_device().run(with_experiment(a_job(tmp_path), cpu_affinity=(0, 4000)))


def test_a_launcher_stands_before_the_runner(tmp_path: Path) -> None:
    marker = tmp_path / "launched"
    launcher = ("sh", "-c", f'touch "{marker}"; exec "$@"', "sh")
    outcome = scripted_device().run(with_experiment(a_job(tmp_path), launcher=launcher))
    assert outcome.problem == ""
    assert marker.exists()


def test_a_stopped_runner_leaves_no_process_behind(tmp_path: Path) -> None:
    marker = tmp_path / "grandchild"
    script = f"(sleep 3; touch '{marker}') & sleep 30"
    device = LocalDevice(lambda job: ["sh", "-c", script], a_device_info())
    outcome = device.run(replace(a_job(tmp_path), timeout_s=0.5))
    assert "timed out after 0.5 s" in outcome.problem
    time.sleep(3.5)
    assert not marker.exists()


class PartsWithRunner(RunnerParts):
    """This machine with any program for a runner."""

    def __init__(self, *, can_sample: bool) -> None:
        self._runner = HostRunner(("runner",), can_sample, "" if can_sample else "It cannot sample.")

    def find_host_runner(self, name: str, progress: Progress) -> HostRunner:
        return self._runner


def command_of(parts: RunnerParts, job: Job, say: Progress = lambda _: None) -> list[str]:
    with KIND.open(DeviceRequest("local", say_command=say), parts) as opened:
        assert isinstance(opened.device, LocalDevice)
        return opened.device.command_for(job)


def test_a_runner_that_cannot_sample_is_not_asked_to(tmp_path: Path) -> None:
    job = replace(a_job(tmp_path), samples=tmp_path / "on.kernels")
    assert "--kernel_samples" in command_of(PartsWithRunner(can_sample=True), job)
    assert "--kernel_samples" not in command_of(PartsWithRunner(can_sample=False), job)


def test_why_another_runner_is_used_is_among_the_notes() -> None:
    for parts, notes in (
        (PartsWithRunner(can_sample=True), ()),
        (PartsWithRunner(can_sample=False), ("It cannot sample.",)),
    ):
        with KIND.open(DeviceRequest("local"), parts) as opened:
            assert opened.notes == notes


def test_an_experiment_may_name_a_runner_and_every_command_is_shown(tmp_path: Path) -> None:
    named = make_stock_runner(tmp_path / "executor_runner")
    job = with_experiment(a_job(tmp_path), runner_path=named, extra_args=(), launcher=("nice",))
    said = list[str]()
    command = command_of(PartsWithRunner(can_sample=True), job, said.append)
    assert command[:2] == [str(named), f"--model_path={job.model}"]
    assert said == [shlex.join(["nice", *command])]
