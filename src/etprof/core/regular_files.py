"""Files that others may have made are opened only if they are files: no pipe to wait for, no device without an end."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from etprof.core.confinement import check_handle

# More than any file of ours holds, and less than would exhaust a machine.
MOST_BYTES = 1 << 30


def open_regular(path: Path) -> BufferedReader:
    """The file for reading; an OSError, as from `open`, for what is none."""
    # Without O_NONBLOCK, opening a pipe waits for somebody to write.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        check_handle(handle, path)
    except OSError:
        os.close(handle)
        raise
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(path))


def read_regular(path: Path, most: int = MOST_BYTES) -> bytes:
    """All of a file that has at most so many bytes; a larger one is refused before it is read."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
        return file.read(most)
