"""This machine as a device."""

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info
from devices.test_contract import a_job
from etprof.core.errors import DeviceError
from etprof.core.run import Job
from etprof.devices.local import LocalDevice
from parts import need
from scripted_device import scripted_device


def with_experiment(job: Job, **changes: object) -> Job:
    return replace(job, block=replace(job.block, experiment=replace(job.block.experiment, **changes)))  # type: ignore[arg-type]


def test_the_runner_keeps_to_the_cores_asked_for(tmp_path: Path) -> None:
    need(sys.platform.startswith("linux"), "core affinity is Linux's")
    job = with_experiment(a_job(tmp_path), cpu_affinity=(0,))
    before = os.sched_getaffinity(0)
    scripted_device().run(job)
    assert json.loads(job.result.read_text())["cpu_affinity"] == [0]
    assert os.sched_getaffinity(0) == before


def test_cores_that_are_not_there_are_refused_by_number(tmp_path: Path) -> None:
    need(sys.platform.startswith("linux"), "core affinity is Linux's")
    with pytest.raises(DeviceError, match="not there: 4000"):
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
    assert "no end after 0.5 s" in outcome.problem
    time.sleep(3.5)
    assert not marker.exists()
