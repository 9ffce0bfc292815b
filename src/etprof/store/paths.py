"""Paths as users give them: what the system cannot look up or make is refused with a sentence."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from etprof.core.confinement import check_handle
from etprof.core.errors import StoreError, UsageError

_SHOWN = 120
# What a file system answers that cannot do it, such as some that lie on another machine.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
_LINK_HINT = "A run's folder holds its own files: remove the link."


def check_path(path: Path) -> Path:
    """The path, unless the system cannot even look it up: then nothing that is asked of it would succeed."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise UsageError(f"{_shorten(path)} cannot be used: {reason_of(error)}.", hint="Check the path.") from error
    return path


def require_file(path: Path, what: str, *, hint: str) -> Path:
    """A file that a user named; `what` is the word for it."""
    if not check_path(path).exists():
        raise UsageError(f"There is no {what} {path}.", hint=hint)
    kind = "folder" if path.is_dir() else "device" if path.is_char_device() or path.is_block_device() else ""
    if kind:
        raise UsageError(f"{path} is a {kind}, not a {what}.", hint=hint)
    return path


def make_folder(folder: Path, *, durable: bool = False) -> None:
    """Makes a folder and those above it, where they are not there yet; what is `durable` survives a loss of power."""
    try:
        missing = [each for each in (folder, *folder.parents) if not each.exists()] if durable else []
        folder.mkdir(parents=True, exist_ok=True)
        for each in missing:
            sync_folder(each.parent)
    except (OSError, ValueError) as error:
        in_the_way = [each for each in (folder, *folder.parents) if _is_file(each)]
        reason = f"{in_the_way[0]} is a file" if in_the_way else reason_of(error)
        raise StoreError(
            f"{_shorten(folder)} cannot be written: {reason}.", hint="Choose a folder that can be written to."
        ) from error


def sync_folder(folder: Path) -> None:
    """Puts the names in a folder on the disk."""
    with open_folder(folder) as handle:
        sync_handle(handle)


def sync_handle(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


@contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """A folder by its handle, which stays the same folder whatever takes its place."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        check_handle(handle, folder)
        yield handle
    finally:
        os.close(handle)


def check_inside(path: Path, folder: Path) -> None:
    """Refuses a file of a folder that a link in it would lead elsewhere; the file itself may be a link, to be replaced.

    A folder that was received may hold such links, so that writing to it would change files outside of it.
    """
    try:
        is_inside = path.parent.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise StoreError(f"{_shorten(path)} cannot be used: {error}.", hint=_LINK_HINT) from error
    if not is_inside or path.name in ("", ".."):
        raise StoreError(f"{_shorten(path)} does not lie in {folder}: a link leads out of it.", hint=_LINK_HINT)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def reason_of(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _shorten(path: Path) -> str:
    text = str(path)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
