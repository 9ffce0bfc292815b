"""A shell on another machine: scripts go in, output and exit codes come back, and a lost connection is noticed."""

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from etprof.core.errors import DeviceError

Progress = Callable[[str], None]

# The exit codes of the clients cannot be trusted: adb gives 0 when the daemon dies, ssh 255 for its own errors.
_END = re.compile(rb"\netprof-end (\d+)\r?\n\Z")
_CHUNK_BYTES = 1 << 16
# The files of one block, all together; more would exhaust this machine.
MOST_ANSWER_BYTES = 1 << 30
_WATCH_INTERVAL_S = 0.2
_SHORT_TIMEOUT_S = 60.0


class ConnectionLostError(DeviceError):
    """The other side went away, or its shell did, before a script ended."""


class ScriptTimeoutError(DeviceError):
    """A script took longer than it may; the connection was closed, which stops what it started."""


class UnexpectedAnswerError(DeviceError):
    """A device said something that is not an answer; what else it has to say may be."""


class RemoteShell(Protocol):
    @property
    def name(self) -> str:
        """The device, as the user names it."""

    def command(self, script: str) -> list[str]:
        """The local command that runs a script over there, its standard input being the script's."""

    def explain(self, said: str) -> DeviceError:
        """What the client's message means: a ConnectionLostError where waiting may help."""

    def reconnect(self) -> bool:
        """Tries once; True when scripts can be run again."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class ScriptResult:
    exit_code: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        return self.output.decode("utf-8", errors="replace")


def run_script(
    shell: RemoteShell,
    script: str,
    *,
    timeout_s: float = _SHORT_TIMEOUT_S,
    source: Path | None = None,
    sent: Callable[[int], None] = lambda _: None,
) -> ScriptResult:
    """Runs a script to its end. With `source`, its standard input, `timeout_s` is the longest time without progress."""
    whole = f"trap 'printf \"\\netprof-end %d\\n\" $?' EXIT\n{script}\nexit $?"
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        # A session of its own: Ctrl-C must not cut the connection that cleaning up needs.
        process = subprocess.Popen(
            shell.command(whole), stdin=subprocess.PIPE, stdout=output, stderr=errors, start_new_session=True
        )
        watch = _Watch(process, timeout_s, lambda: _size(output) + _size(errors))
        try:
            assert process.stdin is not None  # a pipe, as asked for above
            if source is not None:
                for count in _send(source, process.stdin):
                    watch.progressed()
                    sent(count)
            process.wait()
        finally:
            watch.stop()
            process.kill()
            process.wait()
            _close(process.stdin)
        if watch.flooded or _size(output) + _size(errors) > MOST_ANSWER_BYTES:
            raise UnexpectedAnswerError(f"{shell.name} answered with more than {MOST_ANSWER_BYTES} bytes.")
        said = _read_all(errors).decode("utf-8", errors="replace")
        return _understand(_read_all(output), said, shell, watch, timeout_s)


def _understand(output: bytes, said: str, shell: RemoteShell, watch: "_Watch", timeout_s: float) -> ScriptResult:
    end = _END.search(output)
    if end:
        return ScriptResult(int(end[1]), output[: end.start()], said)
    if watch.expired:
        raise ScriptTimeoutError(f"{shell.name} timed out after {timeout_s:g} s")
    raise shell.explain(said)


class _Watch:
    """Ends a process that made no progress for too long, or that says more than anybody can read."""

    def __init__(self, process: "subprocess.Popen[bytes]", timeout_s: float, written: Callable[[], int]) -> None:
        self.expired = self.flooded = False
        self._written = written
        self._process, self._timeout_s = process, timeout_s
        self._last = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def progressed(self) -> None:
        self._last = time.monotonic()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_WATCH_INTERVAL_S):
            if time.monotonic() - self._last > self._timeout_s:
                self.expired = True
                self._process.kill()
                return
            if self._written() > MOST_ANSWER_BYTES:
                self.flooded = True
                self._process.kill()
                return


def _send(source: Path, target: IO[bytes]) -> Iterator[int]:
    """Yields the length of each piece that was taken."""
    try:
        with source.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                target.write(chunk)
                yield len(chunk)
        target.close()
    except BrokenPipeError:
        # The other side stopped reading; its last words, or that it is gone, show why.
        return


def _close(pipe: IO[bytes] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except BrokenPipeError:
        return


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
