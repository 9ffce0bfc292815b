"""Writes an executor_runner script for each variant at the paths of the users' documents; both start one program."""

import shlex
from collections.abc import Collection
from pathlib import Path

from etprof.core.errors import RunnerError, UsageError
from etprof.core.extensions import ARM64, EXTENSIONS, Extension, best_extension
from etprof.runner.build import NativeRunner, host_target
from etprof.runner.cpu_features import present_features
from etprof.runner.stock import OUR_MARK

_NAME = "executor_runner"
_PLATFORM_NAMES = {"macos": "mac"}


def write_executor_scripts(runner: NativeRunner, folder: Path) -> list[Path]:
    """Writes <folder>/<platform>/executor_runner and <folder>/<platform>-sme2-off/executor_runner.

    The second hides what its name says: SME and SME2 and nothing else, whether this CPU has them or not. Without them
    the runner says so and exits with code 3. Elsewhere than on Arm it is named after the best extension of this CPU,
    which it hides. A program that something else built there is not changed.
    """
    if runner.target != host_target().name:
        raise UsageError(f"These scripts start a runner of this machine, not one for {runner.target}.")
    system, _, architecture = runner.target.partition("-")
    platform = f"{_PLATFORM_NAMES.get(system, system)}-{architecture}"
    extension = find_off_variant(architecture, present_features())
    scripts: dict[str, tuple[str, ...]] = {platform: (), f"{platform}-{extension.slug}-off": extension.hide_isa}
    return [_write_script(folder / name / _NAME, runner, hide_isa) for name, hide_isa in scripts.items()]


def find_off_variant(architecture: str, features: Collection[str]) -> Extension:
    """What the second script hides, and is named after."""
    return EXTENSIONS[ARM64][0] if architecture == ARM64 else best_extension(architecture, features)


def _write_script(path: Path, runner: NativeRunner, hide_isa: tuple[str, ...]) -> Path:
    if path.exists() and OUR_MARK not in path.read_bytes():
        raise UsageError(
            f"{path} was built by something else; it was not changed.",
            hint="A plan can name it as `runner_path`. Move it aside to have etprof's runner there.",
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
