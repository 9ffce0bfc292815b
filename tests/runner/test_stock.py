"""Runners that somebody else built: recognised by what is in them, driven with the flags they have."""

import subprocess
from pathlib import Path

import pytest

from etprof.core.errors import RunnerError, UsageError
from etprof.core.plan import Block, Experiment, Warmup
from etprof.core.run import Job
from etprof.runner.build import NativeRunner
from etprof.runner.bundle import Bundle
from etprof.runner.cpu_features import host_architecture
from etprof.runner.stock import build_stock_flags, identify_runner
from etprof.traces.stock_log import read_stock_log
from stock_runner import make_stock_runner


def make_job(folder: Path, *, hide_isa: tuple[str, ...] = (), extra_args: tuple[str, ...] = ()) -> Job:
    experiment = Experiment("variant", runs=3, warmup=Warmup(2, 10), hide_isa=hide_isa, extra_args=extra_args)
    return Job(
        Block(experiment, threads=2, index=0), folder / "m.pte", (folder / "a.bin", folder / "b.bin"),
        folder / "r.json", folder / "t.etdump", folder / "log", folder / "outputs", 60.0,
    )  # fmt: skip


def test_a_stock_runner_is_driven_and_its_log_read(tmp_path: Path) -> None:
    runner = identify_runner(make_stock_runner(tmp_path / "executor_runner"))
    assert not runner.is_ours
    command = [str(runner.path), *build_stock_flags(runner, make_job(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    result = read_stock_log(done.stderr).as_result(warmup=2)
    assert result.threads_in_force == 2
    assert (len(result.warmup_ns), result.latency_ns) == (2, (1_333_333, 1_000_000, 800_000))


def test_flags_it_does_not_have_are_omitted(tmp_path: Path) -> None:
    flags = ("model_path", "inputs", "num_executions", "cpu_threads")
    runner = identify_runner(make_stock_runner(tmp_path / "executor_runner", flags))
    command = build_stock_flags(runner, make_job(tmp_path, extra_args=("--v=1",)))
    assert [word.partition("=")[0] for word in command] == [*(f"--{name}" for name in flags), "--v"]
    assert f"--inputs={tmp_path / 'a.bin'},{tmp_path / 'b.bin'}" in command


def test_a_runner_too_old_for_the_job_is_refused(tmp_path: Path) -> None:
    old = tmp_path / "executor_runner"
    old.write_bytes(b"\x7fELF ... model_path ... Model executed successfully.")
    with pytest.raises(RunnerError, match="has no flag --inputs"):
        build_stock_flags(identify_runner(old), make_job(tmp_path))


def test_a_stock_runner_cannot_hide_features(tmp_path: Path) -> None:
    runner = identify_runner(make_stock_runner(tmp_path / "executor_runner"))
    with pytest.raises(UsageError, match="cannot hide sme, sme2"):
        build_stock_flags(runner, make_job(tmp_path, hide_isa=("sme", "sme2")))


def test_our_own_runner_is_recognised(runner: NativeRunner) -> None:
    found = identify_runner(runner.path)
    assert (found.is_ours, found.architecture) == (True, host_architecture())


def test_a_runner_for_another_machine_is_recognised(arm_bundle: Bundle) -> None:
    found = identify_runner(arm_bundle.folder / "bin" / "etprof_runner")
    assert (found.is_ours, found.architecture) == (True, "arm64")


@pytest.mark.parametrize(
    ("head", "architecture"),
    [
        (b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01", "arm64"),
        (b"\xcf\xfa\xed\xfe\x07\x00\x00\x01", "x86_64"),
        (b"#!/bin/sh\n", None),
    ],
)
def test_the_machine_a_program_is_for_is_in_its_head(tmp_path: Path, head: bytes, architecture: str | None) -> None:
    program = tmp_path / "executor_runner"
    program.write_bytes(head + b" Model executed successfully")
    assert identify_runner(program).architecture == architecture


def test_another_program_is_no_runner(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="neither an ExecuTorch executor_runner nor"):
        identify_runner(Path("/bin/sh"))
    with pytest.raises(UsageError, match="There is no runner"):
        identify_runner(tmp_path / "nowhere")
