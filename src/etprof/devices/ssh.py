"""Machines reached by ssh, through the OpenSSH client, so that the user's own configuration and agent apply."""

import re
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from etprof.core.errors import DependencyError, DeviceError, EtprofError, UsageError
from etprof.devices.guard import Guard
from etprof.devices.remote_kind import build_remote_kind
from etprof.devices.shell import ConnectionLostError

_FOLDER = "/var/tmp"
_CONNECT_TIMEOUT_S = 30.0
_POLL_S = 0.05
_OPTIONS = (
    "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3",
)  # fmt: skip
_PLACE = re.compile(r"(?P<host>[^:\s]+|\S+@\[[^\]\s]+\]|\[[^\]\s]+\])(?::(?P<port>\d+))?")
# The first words found decide; waiting does not solve these problems.
_PROBLEMS = (
    (
        "IDENTIFICATION HAS CHANGED",
        "The host key of {host} has changed: it was reinstalled, or this is another machine.",
        "Ask its owner. If the change is right: ssh-keygen -R HOST, then ssh HOST once by hand.",
    ),
    (
        "Host key verification failed",
        "The host key of {host} is not known here.",
        "Connect once by hand and compare the key: ssh HOST.",
    ),
    (
        "Permission denied",
        "{host} rejected your key.",
        "Load your key into the agent (ssh-add) or name it in ~/.ssh/config; passwords are not supported.",
    ),
    ("Could not resolve hostname", "There is no machine called {host}.", "Check the name, or ~/.ssh/config."),
)


@dataclass
class SshShell:
    """One connection, shared by every script. The client's own files are in `folder`, which `close` removes."""

    host: str
    port: str = ""
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="etprof-")))
    _master: "subprocess.Popen[bytes] | None" = None
    _guard: Guard | None = None

    @property
    def name(self) -> str:
        return f"ssh:{self.host}" + (f":{self.port}" if self.port else "")

    def command(self, script: str) -> list[str]:
        return [*self._client(), "-o", "ControlMaster=no", "--", self.host, f"exec sh -c {shlex.quote(script)}"]

    def explain(self, said: str) -> DeviceError:
        for words, message, hint in _PROBLEMS:
            if words in said:
                return DeviceError(message.format(host=self.host), hint=hint.replace("HOST", self.host))
        lines = [line for line in said.strip().splitlines() if line.strip()]
        reason = f" ({lines[-1].strip().rstrip('.')})" if lines else ""
        return ConnectionLostError(
            f"{self.host} cannot be reached by ssh, or its shell was killed{reason}.",
            hint=f"Try `ssh {self.host} true`; a run that was interrupted continues with --resume.",
        )

    def connect(self) -> None:
        """Opens the connection that all scripts share; it ends with this process."""
        self._stop_master()
        client = self._client()
        self._guard = Guard()
        errors = self.folder / "ssh.log"
        with errors.open("wb") as log:
            self._master = subprocess.Popen(
                [*client, "-o", "ControlMaster=yes", "-N", "--", self.host],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._guard.watch(self._master.pid)
        deadline = time.monotonic() + _CONNECT_TIMEOUT_S
        while self._master.poll() is None and time.monotonic() < deadline:
            if self._socket.exists():
                return
            time.sleep(_POLL_S)
        self._stop_master()
        raise self.explain(errors.read_text(encoding="utf-8", errors="replace"))

    def reconnect(self) -> bool:
        try:
            self.connect()
        except ConnectionLostError:
            return False
        return True

    def close(self) -> None:
        self._stop_master()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _socket(self) -> Path:
        return self.folder / "socket"

    def _client(self) -> list[str]:
        program = shutil.which("ssh")
        if program is None:
            raise DependencyError("ssh is not installed.", hint="Install the OpenSSH client.")
        port = ["-p", self.port] if self.port else []
        return [program, *_OPTIONS, *port, "-o", f"ControlPath={self._socket}"]

    def _stop_master(self) -> None:
        if self._master is not None:
            self._master.terminate()
            self._master.wait()
            self._master = None
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None
        self._socket.unlink(missing_ok=True)


def open_shell(place: str) -> SshShell:
    """`place` is USER@HOST[:PORT] or a name from ~/.ssh/config."""
    found = _PLACE.fullmatch(place)
    if not found or place.startswith("-"):
        raise UsageError(f"{place!r} is not a valid ssh address.", hint="Write --device ssh:USER@HOST[:PORT].")
    shell = SshShell(found["host"].replace("[", "").replace("]", ""), found["port"] or "")
    try:
        shell.connect()
    except EtprofError:
        shell.close()
        raise
    return shell


KIND = build_remote_kind(open_shell, folder=_FOLDER, platform="linux", summary="any Linux that your ssh client reaches")
