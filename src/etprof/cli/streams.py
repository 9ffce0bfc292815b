"""Standard output and standard error that survive a reader who has left: the command goes on to its exit code."""

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from etprof.core.errors import EtprofError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def use_lasting_streams() -> None:
    """Replaces the streams of a process; streams that a program has put in their place are left alone."""
    _open_closed_descriptors()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _open(1, sys.__stdout__)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _open(2, sys.__stderr__)


def _open_closed_descriptors() -> None:
    # A file that is opened later would get the number, and hold what is printed.
    for descriptor in (1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _discard(descriptor)


def _discard(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _open(descriptor: int, replaced: TextIO | None) -> TextIO:
    """`replaced` is None where the descriptor was closed."""
    encoding = replaced.encoding if replaced else "utf-8"
    buffer = io.BufferedWriter(_Lasting(descriptor, "wb", closefd=False))
    # Names of files may hold bytes that are not text.
    return io.TextIOWrapper(buffer, encoding=encoding, errors="backslashreplace", line_buffering=True)


class _Lasting(io.FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            # Once is enough: what follows, at the end of the process too, is not an error again.
            _discard(self.fileno())
            if not isinstance(error, BrokenPipeError) and self.fileno() == 1:
                raise EtprofError(f"Standard output cannot be written: {error.strerror}.") from error
        return memoryview(data).nbytes
