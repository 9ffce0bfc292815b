"""A process on the device that holds its turn for us, and that restores settings when we are done, lost or killed."""

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from typing import IO

from etprof.core.errors import DeviceError
from etprof.devices.shell import ConnectionLostError, Progress, RemoteShell, UnexpectedAnswerError
from etprof.devices.turns import LOCKED, VARIABLE, busy, waiting_for

_BEAT_S = 15.0
# A cable that is pulled closes nothing: without a word for so long, the device takes us for gone.
SILENCE_S = 60
_ANSWER_TIMEOUT_S = 30.0
_RESTORE_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 20.0
_MOST_ANSWERS = 1000
_MOST_ERROR_BYTES = 1 << 20
_MOST_ANSWER_BYTES = 10_000
_MARK = "etprof-keeper "

# It reads one line after the other from its standard input, which ends with the connection and with our process. A
# daemon that loses its client may send a signal to what it started: nothing but an end of the input may end this. The
# lock is one of the kernel, and ends with the process. Of two programs called timeout one takes other options.
_SCRIPT = r"""
trap '' HUP INT TERM PIPE
say() { echo "@MARK@$*"; }
file=${@VARIABLE@:-@LOCKED@}
if command -v flock > /dev/null 2>&1 && [ -r "$file" ]; then
  exec 9< "$file"
  flock -n 9 || { say busy; @WAIT@; flock 9; } || exit 1
  say held
else
  say unlocked
fi
limit="timeout -s KILL @SILENCE@"
timeout -s KILL 5 true > /dev/null 2>&1 || limit=
undo=
restore() { eval "$undo"; undo=; }
while line=$($limit sh -c 'IFS= read -r line && printf "%s\n" "$line"'); do
  case $line in
    undo\ *) undo="${line#undo }
$undo"; say noted ;;
    forget) undo=${undo#*"
"}; say noted ;;
    restore) restore; say restored ;;
    ping) say here ;;
  esac
done
restore
"""


class Keeper:
    """`is_locked` tells whether runs of others wait for this one: they cannot where the device has no flock."""

    def __init__(self, shell: RemoteShell, progress: Progress, silence_s: int = SILENCE_S) -> None:
        self.shell, self.is_locked = shell, False
        self._progress, self._silence_s = progress, silence_s
        self._line: _Line | None = None
        self._has_turn = False
        self._undos: list[str] = []

    def start(self, *, wait: bool) -> float:
        """Takes the device's turn; returns how many seconds that took."""
        self.close()
        began_s = time.monotonic()
        self._line = line = _Line(self.shell, self._script(wait=wait))
        answer = line.answer(_ANSWER_TIMEOUT_S)
        if answer == "busy":
            if not wait:
                self.close()
                raise busy(self.shell.name)
            self._progress(waiting_for(self.shell.name))
            answer = line.answer(None)
        self._has_turn, self.is_locked = True, answer == "held"
        if not self.is_locked:
            self._progress(f"{self.shell.name} has no flock: other runs are not waited for, and nothing is kept there.")
        return time.monotonic() - began_s

    @property
    def undos(self) -> tuple[str, ...]:
        """The commands that would undo what was changed, the first change first."""
        return tuple(self._undos)

    def ensure(self) -> bool:
        """Starts it again where it does not answer any more; True where it had to be."""
        try:
            if self._ask("ping", _ANSWER_TIMEOUT_S) == ["here"]:
                return False
        except DeviceError:
            pass
        undos = self.undos
        self.start(wait=True)
        # The one before has undone them, unless it was killed; twice does no harm.
        for undo in undos:
            self.remember(undo)
        return True

    def remember(self, undo: str) -> None:
        """A command that undoes a change, which is made once this has returned."""
        number = len(self._undos)
        self._undos.append(undo)
        self._ask(f"undo {{ {undo}; }} > /dev/null 2>&1 || say failed {number}", _ANSWER_TIMEOUT_S)

    def forget(self) -> None:
        """The change that was remembered last was not made."""
        self._undos.pop()
        self._ask("forget", _ANSWER_TIMEOUT_S)

    def restore(self) -> list[str]:
        """Undoes every change, the last one first; returns the commands that failed."""
        answers = self._ask("restore", _RESTORE_TIMEOUT_S, until="restored")
        known = {f"failed {number}": undo for number, undo in enumerate(self._undos)}
        self._undos = []
        return [known[answer] for answer in answers if answer in known]

    def close(self) -> None:
        """Ends it, which restores what was not; the turn is over."""
        self._undos = []
        if self._line is not None:
            # One that still waits for its turn has nothing to restore.
            self._line.close(_END_TIMEOUT_S if self._has_turn else 0.0)
            self._line, self._has_turn = None, False

    def _ask(self, text: str, timeout_s: float, *, until: str = "") -> list[str]:
        """The answers to one line: a single one, or all up to the last."""
        if self._line is None:
            raise ConnectionLostError(f"{self.shell.name} is not connected.")
        self._line.write(text)
        answers = [self._line.answer(timeout_s)]
        while until and answers[-1] != until:
            if len(answers) > _MOST_ANSWERS:
                raise UnexpectedAnswerError(f"{self.shell.name} answers without end.")
            answers.append(self._line.answer(timeout_s))
        return answers

    def _script(self, *, wait: bool) -> str:
        parts = {
            "MARK": _MARK, "VARIABLE": VARIABLE, "LOCKED": LOCKED, "SILENCE": str(self._silence_s),
            "WAIT": ":" if wait else "exit 0",
        }  # fmt: skip
        script = _SCRIPT
        for name, value in parts.items():
            script = script.replace(f"@{name}@", value)
        return script


class _Line:
    """Words with a script that goes on on the device, until this end is closed, by us or by the end of our process."""

    def __init__(self, shell: RemoteShell, script: str) -> None:
        self._shell = shell
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the line
        self._process = subprocess.Popen(
            shell.command(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            start_new_session=True,
        )  # fmt: skip
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._writing, self._over = threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._listen, self._beat)]
        for thread in self._threads:
            thread.start()

    def write(self, text: str) -> None:
        with self._writing:
            if self._over.is_set():
                raise ConnectionLostError(f"{self._shell.name} is not connected any more.")
            try:
                self._input.write(f"{text}\n".encode())
                self._input.flush()
            except OSError as error:
                raise self._lost() from error

    def answer(self, timeout_s: float | None) -> str:
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty as error:
            raise ConnectionLostError(f"{self._shell.name} does not answer.") from error
        if answer is None:
            # Whoever asks again learns the same.
            self._answers.put(None)
            raise self._lost()
        return answer

    def close(self, patience_s: float) -> None:
        """What the script does at its end is waited for so long."""
        self._over.set()
        with self._writing, suppress(OSError):
            self._input.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for thread in self._threads:
            thread.join()
        self._output.close()
        self._errors.close()

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin is not None  # a pipe, as asked for
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None  # a pipe, as asked for
        return self._process.stdout

    def _lost(self) -> DeviceError:
        self._errors.seek(0)
        return self._shell.explain(self._errors.read(_MOST_ERROR_BYTES).decode("utf-8", errors="replace"))

    def _listen(self) -> None:
        # Whatever else a login prints is none of it.
        while line := self._output.readline(_MOST_ANSWER_BYTES):
            text = line.decode("utf-8", errors="replace").rstrip()
            if text.startswith(_MARK):
                self._answers.put(text.removeprefix(_MARK))
            if self._answers.qsize() > _MOST_ANSWERS:
                # Nobody asked for so many.
                self._process.kill()
                break
        self._answers.put(None)

    def _beat(self) -> None:
        with suppress(DeviceError):
            while not self._over.wait(_BEAT_S):
                self.write("")
                if os.fstat(self._errors.fileno()).st_size > _MOST_ERROR_BYTES:
                    self._process.kill()
