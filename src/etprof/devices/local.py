"""This machine as a device: each job is a fresh process of the runner it was given."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO

from etprof.core.errors import DeviceError
from etprof.core.run import DeviceInfo, Job, JobOutcome
from etprof.core.runtimes import EXECUTORCH, RUNTIMES
from etprof.devices.base import remove_stale_files, runner_flags
from etprof.devices.guard import Guard
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice
from etprof.devices.shell import Progress
from etprof.devices.turns import host_turn

CommandFor = Callable[[Job], list[str]]


@dataclass(frozen=True)
class LocalDevice:
    """`command_for` gives the runner's whole command line for a job."""

    command_for: CommandFor
    info: DeviceInfo

    @property
    def platform(self) -> str:
        return local_platform()

    def describe(self) -> DeviceInfo:
        return self.info

    def run(self, job: Job) -> JobOutcome:
        remove_stale_files(job)
        experiment = job.block.experiment
        command = [*experiment.launcher, *self.command_for(job)]
        start = time.monotonic()
        with job.log.open("wb") as log, _pinned_to(experiment.cpu_affinity):
            problem, exit_code = run_to_its_end(command, log, job.timeout_s)
        return JobOutcome(exit_code, time.monotonic() - start, problem)


def run_to_its_end(
    command: list[str], log: IO[bytes], timeout_s: float, *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> tuple[str, int | None]:
    """What went wrong, as a phrase, and the exit code. Whatever happens, nothing of the command keeps running."""
    # Ready before the command is started, so that it is told of it within a moment.
    with Guard() as guard:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=cwd, env=env
            )
        except OSError as error:
            return f"{command[0]} cannot be started: {error.strerror}", None
        try:
            guard.watch(process.pid)
            exit_code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"timed out after {timeout_s:g} s", None
        finally:
            # A launcher may have started further processes: they share the session made above.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if exit_code == 0:
        return "", 0
    return f"killed by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}", exit_code


def local_platform() -> str:
    return "mac" if sys.platform == "darwin" else "linux"


def announced(command_for: CommandFor, say: Progress) -> CommandFor:
    """The same, saying each command line, with its launcher, before it is run."""

    def announce(job: Job) -> list[str]:
        command = command_for(job)
        say(shlex.join([*job.block.experiment.launcher, *command]))
        return command

    return announce


@contextmanager
def _open(request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
    runner = parts.find_host_runner(request.runner, request.progress)
    others = {name: parts.find_runtime_runner(name) for name in _list_others(request)}

    def command_for(job: Job) -> list[str]:
        if job.runtime in others:
            return [*others[job.runtime].command, *runner_flags(replace(job, samples=None))]
        named = job.block.experiment.runner_path
        if named is not None:
            return [str(named), *parts.named_runner_flags(named, job)]
        # Where nothing can sample, that nothing was sampled is among the report's findings.
        return [*runner.command, *runner_flags(job if runner.can_sample else replace(job, samples=None))]

    device = LocalDevice(announced(command_for, request.say_command), parts.describe_host())
    notes = (runner.note,) if runner.note else ()
    digests = {f"{name} {part}": sha for name, other in others.items() for part, sha in other.files.digests().items()}
    yield OpenDevice(
        device,
        notes,
        {**runner.files.digests(), **digests},
        take_turn=partial(host_turn, request.wait, request.progress),
        is_python=runner.is_python,
    )


def _list_others(request: DeviceRequest) -> list[str]:
    """The runtimes beside ExecuTorch that experiments name."""
    return sorted({experiment.runtime for experiment in request.experiments} - {"", EXECUTORCH})


@contextmanager
def _pinned_to(cores: tuple[int, ...]) -> Iterator[None]:
    """Keeps to these cores for a while; a process started meanwhile inherits that."""
    if not cores:
        yield
        return
    if not sys.platform.startswith("linux"):
        raise DeviceError("cpu_affinity is not available on this system.", hint="Omit it from the plan.")
    allowed = os.sched_getaffinity(0)
    if not set(cores) <= allowed:
        raise DeviceError(
            f"cpu_affinity names cores that do not exist: {_listed(set(cores) - allowed)}.",
            hint=f"Cores here: {_listed(allowed)}.",
        )
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _listed(cores: set[int]) -> str:
    return ", ".join(str(core) for core in sorted(cores))


KIND = DeviceKind(
    _open,
    lambda _, parts: parts.describe_host(),
    frozenset({"--runner"}),
    find=lambda: ("",),
    runtimes=frozenset(RUNTIMES),
)
