"""Standard input that can be brought to its end: a server that waits for its client can be interrupted."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_CHUNK_BYTES = 1 << 16


@contextmanager
def endable_input() -> Iterator[Callable[[], None]]:
    """Gives the function that ends it. Whoever reads standard input meanwhile gets what the client sends, until then.

    A thread that waits for a client cannot be interrupted in any other way.
    """
    client = os.dup(0)
    ours, theirs = socket.socketpair()

    def end() -> None:
        with suppress(OSError):
            ours.shutdown(socket.SHUT_WR)

    def copy() -> None:
        # Until the client ends it, or the server is no longer there to read it.
        with suppress(OSError):
            while chunk := os.read(client, _CHUNK_BYTES):
                ours.sendall(chunk)
        end()

    os.dup2(theirs.fileno(), 0)
    threading.Thread(target=copy, daemon=True).start()
    try:
        yield end
    finally:
        end()
        os.dup2(client, 0)
