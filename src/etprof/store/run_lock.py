"""A run's folder is written by one process at a time: a lock that ends with its holder, and names it to others."""

import fcntl
import json
import os
import platform
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from etprof.core.errors import StoreError
from etprof.core.layout import RUN_LOCK
from etprof.store.paths import reason_of

_MOST_BYTES = 1000
# Neither a link nor a pipe that somebody left in the folder is followed or waited for.
_CAREFULLY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HINT = "Wait until it has ended, or choose another folder."
# The folders that are held by this thread, by device and inode: who holds one may enter it again.
_held: ContextVar[frozenset[tuple[int, int]]] = ContextVar("_held", default=frozenset())


@contextmanager
def hold_run_folder(folder: Path) -> Iterator[None]:
    """Refuses a folder that another process holds. The folder may be moved meanwhile: the lock goes with it."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        place = os.fstat(handle).st_dev, os.fstat(handle).st_ino
        if place in _held.get():
            yield
            return
        lock = _take(handle, folder)
        before = _held.set(_held.get() | {place})
        try:
            yield
        finally:
            _held.reset(before)
            with suppress(FileNotFoundError):
                os.unlink(RUN_LOCK, dir_fd=handle)
            os.close(lock)
    finally:
        os.close(handle)


def refuse_held(folder: Path) -> None:
    """The same refusal, long before the folder is needed."""
    if os.path.lexists(folder / RUN_LOCK):
        with hold_run_folder(folder):
            pass


def _take(handle: int, folder: Path) -> int:
    while True:
        try:
            lock = os.open(RUN_LOCK, os.O_WRONLY | os.O_CREAT | _CAREFULLY, 0o666, dir_fd=handle)
        except OSError as error:
            raise _unwritable(folder, error) from error
        is_ours = False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _check_file(lock, folder)
            is_ours = _is_in_place(lock, handle)
            if is_ours:
                _sign(lock)
                return lock
        except BlockingIOError as error:
            raise StoreError(f"{folder} is being written by {_read_holder(handle)}.", hint=_HINT) from error
        except OSError as error:
            is_ours = False
            raise _unwritable(folder, error) from error
        finally:
            if not is_ours:
                os.close(lock)


def _check_file(lock: int, folder: Path) -> None:
    """What is written to it must not reach a file elsewhere, by another of its names."""
    state = os.fstat(lock)
    if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
        raise StoreError(f"{folder / RUN_LOCK} is not a lock of etprof.", hint="Remove it.")


def _is_in_place(lock: int, handle: int) -> bool:
    """Whoever held it before may have removed the file between its opening and its locking."""
    try:
        return os.path.samestat(os.fstat(lock), os.stat(RUN_LOCK, dir_fd=handle, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _sign(lock: int) -> None:
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": platform.node(), "started_at": started_at}
    os.ftruncate(lock, 0)
    os.write(lock, json.dumps(holder).encode())


def _read_holder(handle: int) -> str:
    try:
        lock = os.open(RUN_LOCK, os.O_RDONLY | _CAREFULLY, dir_fd=handle)
        try:
            holder = json.loads(os.read(lock, _MOST_BYTES))
        finally:
            os.close(lock)
        pid, host, started_at = (str(holder[key]) for key in ("pid", "host", "started_at"))
    except (OSError, ValueError, LookupError, TypeError):
        return "another process"
    text = f"process {pid} on {host}, which started at {started_at}"
    return text if text.isprintable() else "another process"


def _unwritable(folder: Path, error: OSError) -> StoreError:
    hint = "Choose a folder that can be written to."
    return StoreError(f"{folder} cannot be written: {reason_of(error)}.", hint=hint)
