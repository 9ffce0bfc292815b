"""Measurements on one machine take turns: whoever measures holds a lock on a file of its kernel.

The file is there on every Linux, belongs to root, and is neither read nor written: nobody can prepare it for another.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from etprof.core.errors import DeviceError
from etprof.devices.shell import Progress

# Containers of one machine may have kernel files of their own; a file that they share is named in this variable.
VARIABLE = "ETPROF_LOCK_FILE"
LOCKED = "/sys/devices/system/cpu/online"
# Other systems than Linux.
_ELSEWHERE = "/"


@contextmanager
def host_turn(wait: bool, progress: Progress) -> Iterator[float]:
    """The turn on this machine, and how many seconds were waited for it."""
    began_s = time.monotonic()
    file = os.environ.get(VARIABLE) or (LOCKED if Path(LOCKED).exists() else _ELSEWHERE)
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DeviceError(
            f"{file} cannot be locked: {error.strerror}.", hint=f"Name a file that can be read in {VARIABLE}."
        ) from error
    try:
        _lock(handle, wait, progress)
        yield time.monotonic() - began_s
    finally:
        os.close(handle)


def _lock(handle: int, wait: bool, progress: Progress) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError as error:
        if not wait:
            raise busy("this machine") from error
    progress(waiting_for("this machine"))
    fcntl.flock(handle, fcntl.LOCK_EX)


def busy(where: str) -> DeviceError:
    return DeviceError(f"Another run is measuring on {where}.", hint="Try again when it has ended.")


def waiting_for(where: str) -> str:
    return f"Another run is measuring on {where}: waiting until it has ended (--no-wait fails instead)."
