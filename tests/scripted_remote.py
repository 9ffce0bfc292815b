"""A device behind a real shell, with the scripted runner in place of a real one."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from builders import a_device_info
from etprof.core.run import Cluster, Job
from etprof.devices.base import runner_flags
from etprof.devices.remote import RemoteCommand, RemoteDevice
from etprof.devices.remote_folder import RemoteFolder
from etprof.devices.shell import Progress, RemoteShell

RUNNER = Path(__file__).with_name("scripted_runner.py")


def scripted_command(job: Job) -> RemoteCommand:
    return RemoteCommand((sys.executable, str(RUNNER), *runner_flags(job)), {"runner/scripted.py": RUNNER})


@contextmanager
def scripted_remote(
    shell: RemoteShell,
    parent: Path,
    *,
    command_for: Callable[[Job], RemoteCommand] = scripted_command,
    patience_s: float = 20.0,
    progress: Progress = lambda _: None,
) -> Iterator[RemoteDevice]:
    """The folder below `parent` is made, and removed afterwards where the device can still be reached."""
    folder = RemoteFolder(shell, str(parent), progress)
    folder.make()
    info = a_device_info(name=shell.name, clusters=(Cluster("", "A CPU", (0, 1)),))
    try:
        yield RemoteDevice(shell, folder, info, command_for, "linux", progress, patience_s)
    finally:
        try:
            folder.remove()
        finally:
            shell.close()


def count_pushes(said: list[str]) -> list[int]:
    """How many files were pushed each time, from the lines of progress."""
    found = (re.fullmatch(r"pushing (\d+) files? to \S+: \S+ \S+", line) for line in said)
    return [int(match[1]) for match in found if match]
