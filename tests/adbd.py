"""The real Android debug daemon and a real adb server, alone in a network namespace of the tests' own."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from namespace import can_have_namespaces, enter, unshare
from parts import need

# Where adbd listens; the adb server also finds it by itself and calls it emulator-5554.
SERIAL = "127.0.0.1:5555"
OTHER_SERIAL = "emulator-5554"


@dataclass
class AdbDevice:
    """The client reaches the server in the namespace through a socket in `folder`, once `use` was called."""

    folder: Path
    server: "subprocess.Popen[bytes]"
    program: Sequence[str]
    daemon: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        with (self.folder / "adbd.log").open("ab") as log:
            self.daemon = subprocess.Popen(
                [*enter(self.server.pid), *self.program], stdout=log, stderr=log, env=_environment(self.folder)
            )

    def stop(self) -> None:
        """Kills the daemon as a pulled cable would, without a word to what it started."""
        if self.daemon is not None:
            self.daemon.send_signal(signal.SIGKILL)
            self.daemon.wait()
            self.daemon = None

    def use(self, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("ADB_SERVER_SOCKET", _environment(self.folder)["ADB_SERVER_SOCKET"])

    def adb(self, *arguments: str) -> str:
        done = subprocess.run(
            ["adb", *arguments], env=_environment(self.folder), capture_output=True, text=True, timeout=30
        )
        return done.stdout + done.stderr

    def wait_for(self, serial: str = SERIAL) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            self.adb("connect", SERIAL)
            if self.adb("-s", serial, "get-state").strip() == "device":
                return
            time.sleep(0.2)
        raise AssertionError(self.adb("devices") + (self.folder / "adbd.log").read_text())


def adbd_path() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~").expanduser() / ".cache")
    return Path(cache) / "etprof" / "adbd" / "adbd"


@contextmanager
def running_adbd(folder: Path, program: Sequence[str] = ()) -> Iterator[AdbDevice]:
    """The daemon of this machine, or the one that a command starts."""
    need(shutil.which("adb"), "there is no adb")
    need(program or adbd_path().exists(), "there is no adbd; scripts/get_adbd brings it")
    need(can_have_namespaces(), "this system gives no network namespace")
    folder.mkdir(parents=True)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*unshare(), "sh", "-c", "ip link set lo up && exec adb nodaemon server"],
            stdout=log, stderr=log, env=_environment(folder),
        )  # fmt: skip
    device = AdbDevice(folder, server, program or [str(adbd_path())])
    try:
        deadline = time.monotonic() + 10
        while not _socket(folder).exists():
            assert time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.05)
        device.start()
        device.wait_for()
        yield device
    finally:
        device.stop()
        server.kill()
        server.wait()


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(folder), "ADB_SERVER_SOCKET": f"localfilesystem:{_socket(folder)}"}


def _socket(folder: Path) -> Path:
    return folder / "adb.sock"
