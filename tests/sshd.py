"""A real OpenSSH server of the tests' own on the loopback interface, and a client configuration that finds it."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

import pytest

from etprof.devices.turns import VARIABLE
from parts import need

HOST = "loopback"


@dataclass
class Sshd:
    """Reached as `ssh:loopback` once `use` was called; everything of it lies in `folder`.

    Server and client are started through `launcher`, which may put both into another network.
    """

    folder: Path
    port: int
    launcher: tuple[str, ...] = ()
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        server = shutil.which("sshd") or "/usr/sbin/sshd"
        log = self.folder / "sshd.log"
        log.touch()
        before = log.stat().st_size
        # sshd wants to be called by its full path; -D keeps it in the foreground, in a group that can be ended at once.
        self.process = subprocess.Popen(
            [*self.launcher, server, "-D", "-f", str(self.folder / "sshd_config"), "-E", str(log)],
            start_new_session=True,
        )
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if b"Server listening" in log.read_bytes()[before:]:
                return
            time.sleep(0.05)
        raise AssertionError(log.read_text())

    def stop(self) -> None:
        """Ends the server and every connection of it, as a pulled cable would."""
        if self.process is not None:
            for pid in _session_of(self.process.pid):
                # A connection that was closed just now ends by itself.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def use(self, patch: pytest.MonkeyPatch) -> None:
        """Puts an `ssh` first on PATH that reads our client configuration in place of the user's."""
        patch.setenv("PATH", f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def new_host_key(self) -> None:
        for path in self.folder.glob("host_key*"):
            path.unlink()
        _make_key(self.folder / "host_key")


@contextmanager
def running_sshd(folder: Path, launcher: tuple[str, ...] = ()) -> Iterator[Sshd]:
    need(shutil.which("sshd") or Path("/usr/sbin/sshd").exists(), "there is no sshd (Debian: openssh-server)")
    need(shutil.which("ssh"), "there is no ssh")
    folder.mkdir(parents=True)
    folder.chmod(0o700)
    # Where sshd confines itself before a user is known; the package's own service makes it at boot.
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    server = Sshd(folder, _free_port(), launcher)
    _write_configuration(server)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _write_configuration(server: Sshd) -> None:
    folder = server.folder
    for name in ("host_key", "user_key"):
        _make_key(folder / name)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    (folder / "sshd_config").write_text(
        f"Port {server.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nPasswordAuthentication no\n"
        "PermitRootLogin prohibit-password\nKbdInteractiveAuthentication no\n"
        # Not the user's home: what shells find there to start with may take longer than a test.
        f"SetEnv {VARIABLE}={os.environ[VARIABLE]} HOME={folder}\n"
    )
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {public}")
    (folder / "ssh_config").write_text(
        f"Host {HOST}\n  HostName 127.0.0.1\n  Port {server.port}\n  User {getuser()}\n"
        f"  IdentityFile {folder}/user_key\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        f"Host *\n  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
        "  StrictHostKeyChecking yes\n"
    )
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    client = shlex.join([*server.launcher, shutil.which("ssh") or "ssh", "-F", f"{folder}/ssh_config"])
    wrapper.write_text(f'#!/bin/sh\nexec {client} "$@"\n')
    wrapper.chmod(0o755)


def _make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=30)


def _session_of(leader: int) -> list[int]:
    """The server and what it forked; each connection's process names the server as its parent, or its parent's."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
    family = [leader]
    for pid in family:
        family += [child for child, parent in parents.items() if parent == pid and _is_sshd(child)]
    return family


def _is_sshd(pid: int) -> bool:
    try:
        return "sshd" in (Path("/proc") / str(pid) / "comm").read_text()
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
