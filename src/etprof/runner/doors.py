"""Keeps the paths of the users' documents working: an executor_runner for each arm, both of them one program."""

import shlex
from pathlib import Path

from etprof.core.errors import RunnerError, UsageError
from etprof.runner.build import NativeRunner, host_target
from etprof.runner.cpu_features import present_features
from etprof.runner.isa import best_extension
from etprof.runner.stock import OUR_MARK

_NAME = "executor_runner"
_PLATFORM_NAMES = {"macos": "mac"}


def write_doors(runner: NativeRunner, folder: Path) -> list[Path]:
    """Writes <folder>/<platform>/executor_runner and <folder>/<platform>-sme2-off/executor_runner.

    The second hides the best extension of this CPU. A program that somebody built there is left alone.
    """
    if runner.target != host_target().name:
        raise UsageError(f"Doors lead to a runner of this machine, not to one for {runner.target}.")
    system, _, architecture = runner.target.partition("-")
    platform = f"{_PLATFORM_NAMES.get(system, system)}-{architecture}"
    extension = best_extension(architecture, present_features())
    arm = "sme2" if architecture == "arm64" else extension.slug
    doors: dict[str, tuple[str, ...]] = {platform: (), f"{platform}-{arm}-off": extension.hide_isa}
    return [_write_door(folder / name / _NAME, runner, hide_isa) for name, hide_isa in doors.items()]


def _write_door(path: Path, runner: NativeRunner, hide_isa: tuple[str, ...]) -> Path:
    if path.exists() and OUR_MARK not in path.read_bytes():
        raise UsageError(
            f"{path} is a program that was built by something else; it stays as it is.",
            hint="A plan can name it as `runner_path`. Move it away to have etprof's runner there.",
        )
    command = [shlex.quote(str(runner.path)), '"$@"', *(["--hide_isa", ",".join(hide_isa)] if hide_isa else [])]
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(f"#!/bin/sh\n# {OUR_MARK.decode()}\nexec {' '.join(command)}\n", encoding="utf-8")
        temporary.chmod(0o755)
        temporary.replace(path)
    except OSError as error:
        raise RunnerError(f"{path} cannot be written: {error.strerror}.") from error
    return path
