"""What devices get from the runners."""

import fcntl
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from etprof.app.device_parts import RunnerParts
from etprof.core.errors import DependencyError, DeviceError, UsageError
from etprof.runner.cpu_features import host_architecture, present_features
from etprof.runner.stock import OUR_MARK
from scripted_device import a_job, with_experiment
from stock_runner import make_stock_runner

PARTS = RunnerParts()


def ignore(_: str) -> None:
    pass


def test_a_runner_that_is_not_known_is_refused() -> None:
    with pytest.raises(UsageError, match="There is no runner 'rust'") as raised:
        PARTS.find_host_runner("rust", ignore)
    assert raised.value.hint == "Known: auto, native, python."


def test_the_python_runner_is_used_when_it_is_asked_for() -> None:
    runner = PARTS.find_host_runner("python", ignore)
    assert runner.command[:2] == (sys.executable, "-c")
    assert (runner.can_sample, runner.note) == (False, "The Python runner was used, as requested.")


def test_who_comes_second_waits_until_the_first_has_built_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with ThreadPoolExecutor(1) as pool:
        first = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(first, fcntl.LOCK_EX)
        second = pool.submit(PARTS.find_host_runner, "auto", ignore)
        with pytest.raises(TimeoutError):
            second.result(timeout=0.3)
        os.close(first)
        assert second.result(timeout=20).is_python


def test_without_a_compiler_the_python_runner_steps_in_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    runner = PARTS.find_host_runner("auto", ignore)
    assert runner.command[0] == sys.executable
    assert runner.note.startswith("The Python runner was used: The C++ compiler 'no-such-compiler'")
    with pytest.raises(DependencyError, match="no-such-compiler"):
        PARTS.find_host_runner("native", ignore)


def test_there_are_bundles_for_two_architectures_only() -> None:
    with pytest.raises(DeviceError, match="There is no runner for a riscv64 device") as raised:
        PARTS.find_bundle("riscv64", ignore)
    assert raised.value.hint == "Known: arm64, x86_64."


def test_a_named_runner_gets_the_flags_it_understands(tmp_path: Path) -> None:
    job = with_experiment(a_job(tmp_path), extra_args=())
    stock = make_stock_runner(tmp_path / "executor_runner")
    assert PARTS.named_runner_flags(stock, job)[0] == f"--model_path={job.model}"
    ours = tmp_path / "etprof_runner"
    ours.write_bytes(b"#!/bin/sh\n# " + OUR_MARK)
    assert PARTS.named_runner_flags(ours, job)[:2] == ["--model_path", str(job.model)]
    assert PARTS.named_runner_architecture(ours) is None


def test_features_come_from_flags_on_x86_and_from_the_auxiliary_vector_on_arm() -> None:
    assert PARTS.read_features("x86_64", "flags : avx2 fma\n", {16: 1 << 20}) == ("fma3", "avx2")
    assert PARTS.read_features("arm64", "flags : avx2\n", {16: 1 << 20, 26: 1 << 37}) == ("dot", "sme2")
    assert PARTS.read_features("arm64", "", {}) == ()


def test_this_machine_describes_itself() -> None:
    info = PARTS.describe_host()
    assert (info.name, info.architecture, info.features) == ("this machine", host_architecture(), present_features())
    assert info.times_are_real
