"""Where files may lie that are opened for a guest: checked on the open file itself, so that no link can be swapped."""

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LONGEST_PATH = 1024
# In force for every thread of the process: one guest is served at a time. Nothing is confined where there is none.
_folders: list[Path] = []


@contextmanager
def confined_to(*folders: Path) -> Iterator[None]:
    """Meanwhile every file that `open_regular` opens, and every folder that `write_bytes` writes to, lies in these."""
    before = _folders.copy()
    _folders[:] = [folder.resolve() for folder in folders]
    try:
        yield
    finally:
        _folders[:] = before


def is_confined() -> bool:
    return bool(_folders)


def check_handle(handle: int, path: Path) -> None:
    """An OSError, as from `open`, for an open file or folder that lies elsewhere; `path` is how it was named."""
    if _folders and not any(_path_of(handle).is_relative_to(folder) for folder in _folders):
        raise PermissionError(errno.EACCES, "it lies outside of the workspace", str(path))


def _path_of(handle: int) -> Path:
    if sys.platform == "darwin":
        found = fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(_LONGEST_PATH))
        return Path(os.fsdecode(found.rstrip(b"\0")))
    return Path(f"/proc/self/fd/{handle}").readlink()
