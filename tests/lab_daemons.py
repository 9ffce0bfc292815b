"""A device lab of real daemons on one machine: OpenSSH servers by names of their own, and Android debug daemons."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

from adbd import SERIAL, AdbDevice, running_adbd
from sshd import Sshd, running_sshd

# Each daemon has a network of its own, in which it is reached by one of these.
SERIALS = (SERIAL, "127.0.0.2:5555", "localhost:5555")


@dataclass(frozen=True)
class LabDevice:
    """A device by its name, and what a worker that offers it needs in its environment."""

    name: str
    environment: dict[str, str]


@contextmanager
def running_lab(folder: Path, ssh: int = 3, android: int = 3) -> Iterator[list[LabDevice]]:
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        servers = [stack.enter_context(running_sshd(folder / f"sshd{number}")) for number in range(ssh)]
        path = {"PATH": f"{_write_client(folder, servers)}{os.pathsep}{os.environ['PATH']}"}
        boards = [LabDevice(f"ssh:board{number}", path) for number in range(ssh)]
        daemons = [stack.enter_context(running_adbd(folder / f"adbd{number}")) for number in range(android)]
        yield [*boards, *(_as_phone(daemon, serial) for daemon, serial in zip(daemons, SERIALS, strict=False))]


def _as_phone(daemon: AdbDevice, serial: str) -> LabDevice:
    daemon.adb("disconnect")
    daemon.adb("connect", serial)
    return LabDevice(f"android:{serial}", {"ADB_SERVER_SOCKET": f"localfilesystem:{daemon.folder / 'adb.sock'}"})


def _write_client(folder: Path, servers: list[Sshd]) -> Path:
    """An `ssh` that knows every server by a name of its own."""
    known = folder / "known_hosts"
    known.write_text("".join((server.folder / "known_hosts").read_text() for server in servers))
    hosts = [
        f"Host board{number}\n  HostName 127.0.0.1\n  Port {server.port}\n  User {getuser()}\n"
        f"  IdentityFile {server.folder}/user_key\n"
        for number, server in enumerate(servers)
    ]
    common = (
        f"Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {known}\n"
        "  GlobalKnownHostsFile none\n  StrictHostKeyChecking yes\n"
    )
    (folder / "ssh_config").write_text("".join([*hosts, common]))
    own = servers[0].folder
    program = (own / "bin" / "ssh").read_text().replace(f"{own}/ssh_config", f"{folder}/ssh_config")
    wrapper = folder / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(program)
    wrapper.chmod(0o755)
    return wrapper.parent
