"""Ends what this process has started when this process is gone, even where it was killed and could clean up nothing."""

import subprocess
from types import TracebackType

# It waits for the end of a pipe that only this process can write to; the system closes it with this process. A signal
# to the runner itself (PR_SET_PDEATHSIG) would reach neither what is behind a launcher nor any process on macOS.
_SCRIPT = """trap '' HUP INT TERM; read -r group && read -r end; kill -9 "-$group" """


class Guard:
    """A shell that ends a process group when this process is gone."""

    def __init__(self) -> None:
        self._shell = subprocess.Popen(
            ["sh", "-c", _SCRIPT],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, bufsize=0,
        )  # fmt: skip

    def watch(self, group: int) -> None:
        assert self._shell.stdin is not None  # a pipe, as asked for above
        self._shell.stdin.write(f"{group}\n".encode())

    def dismiss(self) -> None:
        """Ends the guard, and nothing else."""
        self._shell.kill()
        self._shell.wait()
        if self._shell.stdin is not None:
            self._shell.stdin.close()

    def __enter__(self) -> "Guard":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.dismiss()
