"""SIGTERM and SIGHUP end a command as Ctrl-C does: what it began is cleaned up, what it measured is kept."""

import signal
import threading
from types import FrameType, TracebackType

INTERRUPTED = 130
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class EndingSignals:
    """While it is entered, either signal does what Ctrl-C does; `exit_code` tells them apart afterwards.

    Where a program has a handler of its own, or `nohup` has the signal ignored, that stays.
    """

    def __init__(self) -> None:
        self._received = 0
        self._replaced: list[signal.Signals] = []

    def __enter__(self) -> "EndingSignals":
        # Python lets no other thread set a handler.
        if threading.current_thread() is threading.main_thread():
            self._replaced = [each for each in _SIGNALS if signal.getsignal(each) is signal.SIG_DFL]
        for each in self._replaced:
            signal.signal(each, self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for each in self._replaced:
            signal.signal(each, signal.SIG_DFL)

    def exit_code(self, code: int) -> int:
        """The code of a command that ended with `code`: 128 and the signal where one interrupted it."""
        return 128 + self._received if self._received and code == INTERRUPTED else code

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # A terminal that closes may send more than one; the next must not cut short what the first has begun.
        if self._received:
            return
        self._received = number
        # An event loop has a way of its own to be interrupted. A job in the background ignores Ctrl-C, and ends here.
        handler = signal.getsignal(signal.SIGINT)
        (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)
