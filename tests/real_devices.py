"""Real devices as fixtures: an sshd on loopback, an adbd in its own network namespace, and QEMU."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from adbd import SERIAL, AdbDevice, running_adbd
from etprof.core.errors import DependencyError
from etprof.devices import android, ssh
from etprof.devices.emulator import find_emulator
from etprof.devices.shell import RemoteShell
from etprof.runner.build import cache_dir
from etprof.runner.cross import CROSS_COMPILER
from parts import need
from sshd import HOST, Sshd, running_sshd


@pytest.fixture(scope="session")
def emulator() -> str:
    """The path of a QEMU that emulates SME2, on a machine that can also build what it runs."""
    need(shutil.which(CROSS_COMPILER), f"there is no {CROSS_COMPILER}")
    try:
        return find_emulator(cache_dir() / "emulator").path
    except DependencyError as error:
        need(False, error.message)
        raise


@pytest.fixture
def sshd(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    with running_sshd(tmp_path_factory.mktemp("sshd") / "server") as server:
        server.use(monkeypatch)
        yield server


@pytest.fixture
def adbd(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[AdbDevice]:
    with running_adbd(tmp_path_factory.mktemp("adbd") / "device") as device:
        device.use(monkeypatch)
        yield device


@pytest.fixture
def device_folder(tmp_path: Path) -> Path:
    """A folder on the device with a name that needs quoting in every shell."""
    folder = tmp_path / 'a dëvice\'s "$HOME" `id`; folder'
    folder.mkdir()
    return folder


@dataclass(frozen=True)
class Link:
    """A device that can be cut off and come back."""

    open_shell: Callable[[], RemoteShell]
    daemon: "AdbDevice | Sshd"

    def cut(self) -> None:
        self.daemon.stop()

    def mend(self) -> None:
        self.daemon.start()


@pytest.fixture(params=["ssh", "android"])
def link(request: pytest.FixtureRequest) -> Link:
    if request.param == "ssh":
        return Link(lambda: ssh.open_shell(HOST), request.getfixturevalue("sshd"))
    return Link(lambda: android.open_shell(SERIAL), request.getfixturevalue("adbd"))


@pytest.fixture
def shell(link: Link) -> Iterator[RemoteShell]:
    opened = link.open_shell()
    yield opened
    opened.close()
