"""How each job is started on a remote device: with our bundle, or with the runner that its experiment names."""

import hashlib
import shlex
from functools import cache
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.run import Job
from etprof.devices.base import runner_flags
from etprof.devices.kind import DeviceParts, RunnerBundle
from etprof.devices.remote import CommandFor, RemoteCommand
from etprof.devices.shell import Progress


def build_commands(
    bundle: RunnerBundle | None, prefix: tuple[str, ...], parts: DeviceParts, say: Progress
) -> CommandFor:
    """`bundle` may be None where every experiment names a runner; `prefix` is an emulator's command."""
    ours = _list_files(bundle.folder) if bundle else {}
    collect = cache(_collect_named)

    def choose(job: Job) -> RemoteCommand:
        named = job.block.experiment.runner_path
        if named is None:
            assert bundle is not None  # it is left out only where every experiment names a runner
            return RemoteCommand((*prefix, *bundle.command("runner"), *runner_flags(job)), ours)
        files, folder = collect(named)
        flags = parts.named_runner_flags(named, job)
        return RemoteCommand(("env", f"LD_LIBRARY_PATH={folder}", *prefix, f"{folder}/runner", *flags), files)

    def announce(job: Job) -> RemoteCommand:
        command = choose(job)
        say(shlex.join([*job.block.experiment.launcher, *command.arguments]))
        return command

    return announce


def _list_files(folder: Path) -> dict[str, Path]:
    return {f"runner/{path.relative_to(folder)}": path for path in sorted(folder.rglob("*")) if path.is_file()}


def _collect_named(runner: Path) -> tuple[dict[str, Path], str]:
    """A runner and the libraries beside it, in a folder named after their bytes: two runners never share one."""
    files = {path.name: path for path in sorted(runner.parent.glob("*.so*"))} | {"runner": runner}
    content = "".join(f"{name} {file_sha256(file)}\n" for name, file in files.items())
    folder = f"named-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
    return {f"{folder}/{name}": file for name, file in files.items()}, folder
