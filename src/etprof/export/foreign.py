"""Code that is not ours: its output goes to a log file, its failures become one sentence."""

import logging
import os
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import etprof
from etprof.core.errors import EtprofError, ExportError


@contextmanager
def foreign_code(what: str, hint: str = "") -> Iterator[None]:
    """Turns whatever a model or a library raises into an ExportError, with the original as its cause."""
    try:
        yield
    except EtprofError:
        raise
    # Models and exporters raise anything at all, down to AssertionError: there is no narrower class to name.
    except Exception as error:
        where = find_user_line(error)
        raise ExportError(f"{what} failed: {first_line(error)}{f' ({where})' if where else ''}", hint=hint) from error


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    return f"{type(error).__name__}: {text}"[:400] if text else type(error).__name__


def find_user_line(error: BaseException) -> str:
    """The innermost line of the user's own code that an error went through; empty where it went through none."""
    found = ""
    inner: BaseException | None = error
    while inner is not None:
        own = [frame for frame in traceback.extract_tb(inner.__traceback__) if _is_users(frame.filename)]
        if own:
            place = os.path.relpath(own[-1].filename)
            place = own[-1].filename if place.startswith("..") else place
            found = f"{place}, line {own[-1].lineno}: {own[-1].line}"
        inner = inner.__cause__ or inner.__context__
    return found


def _is_users(filename: str) -> bool:
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    ours = str(Path(etprof.__file__).parent)
    return filename.startswith("/") and not any(filename.startswith(f"{folder}/") for folder in (*libraries, ours))


@contextmanager
def output_to(log: Path) -> Iterator[None]:
    """Sends everything that is printed, warned or logged to a file, C libraries included."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stream = stack.enter_context(log.open("a", encoding="utf-8", errors="replace"))
        stack.enter_context(_descriptors_to(stream.fileno()))
        stack.enter_context(redirect_stdout(stream))
        stack.enter_context(redirect_stderr(stream))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("default")
        handler = logging.StreamHandler(stream)
        logging.getLogger().addHandler(handler)
        stack.callback(logging.getLogger().removeHandler, handler)
        logging.captureWarnings(True)
        stack.callback(logging.captureWarnings, False)
        yield


@contextmanager
def _descriptors_to(target: int) -> Iterator[None]:
    # C and C++ libraries write to the descriptors and know nothing of sys.stderr.
    sys.stdout.flush()
    sys.stderr.flush()
    saved = {fd: os.dup(fd) for fd in (1, 2)}
    try:
        for fd in saved:
            os.dup2(target, fd)
        yield
    finally:
        for fd, copy in saved.items():
            os.dup2(copy, fd)
            os.close(copy)
