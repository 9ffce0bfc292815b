"""Real devices for tests: an sshd on loopback, an adbd in its own network namespace, and QEMU."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adbd import AdbDevice, running_adbd
from etprof.core.errors import DependencyError
from etprof.devices.emulator import find_emulator
from etprof.runner.build import cache_dir
from etprof.runner.cross import CROSS_COMPILER
from parts import need
from sshd import Sshd, running_sshd


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
    """A folder on the device whose name no shell likes."""
    folder = tmp_path / 'a dëvice\'s "$HOME" `id`; folder'
    folder.mkdir()
    return folder
