"""The folder on a device: made, filled once, left or removed, and never anybody else's."""

import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from etprof.core.errors import DeviceError
from etprof.devices import remote_folder, ssh
from etprof.devices.keeper import Keeper
from etprof.devices.remote_folder import RemoteFolder
from etprof.devices.shell import RemoteShell
from local_shell import LocalShell
from mounts import mounted
from namespace import can_have_namespaces, enter, unshare
from parts import need
from scripted_device import a_job
from scripted_remote import count_pushes, scripted_remote
from sshd import HOST, running_sshd

# Real daemons, mounted file systems and slow networks.


def test_a_folder_that_is_not_ours_is_not_changed(shell: RemoteShell, device_folder: Path) -> None:
    folder = RemoteFolder(shell, str(device_folder), lambda _: None)
    precious = Path(folder.path) / "precious"
    precious.parent.mkdir()
    precious.write_text("keep me")
    with pytest.raises(DeviceError, match="was not made by etprof"):
        folder.make()
    folder.remove()
    assert precious.read_text() == "keep me"


def test_two_runs_cannot_use_one_device_at_once(shell: RemoteShell) -> None:
    with closing(Keeper(shell, print)) as one, closing(Keeper(shell, print)) as other:
        one.start(wait=False)
        with pytest.raises(DeviceError, match="Another run is measuring on"):
            other.start(wait=False)
        one.close()
        other.start(wait=True)


def test_who_is_not_alone_on_a_device_has_a_folder_of_its_own(tmp_path: Path) -> None:
    first, second, third = (RemoteFolder(LocalShell(), str(tmp_path), lambda _: None) for _ in range(3))
    second.is_alone = False
    for folder in (first, second, third):
        folder.make()
    assert first.path != second.path
    assert third.path in (first.path, second.path)
    assert len(first.remove_all()) == 2


def test_too_little_space_is_reported_before_anything_is_pushed(
    shell: RemoteShell, tmp_path: Path, device_folder: Path
) -> None:
    with mounted(device_folder, "size=4m"), scripted_remote(shell, device_folder) as device:
        with pytest.raises(DeviceError, match=r"has 4\.0 MiB free and needs 8\.0 MiB"):
            device.run(a_job(tmp_path))
        assert not (Path(device.folder.path) / "model.pte").exists()


def test_a_file_that_finds_no_space_although_some_was_promised_says_so_and_leaves_nothing(
    shell: RemoteShell, tmp_path: Path, device_folder: Path
) -> None:
    with mounted(device_folder, "size=64m,nr_inodes=5"):
        with (
            pytest.raises(DeviceError, match=r"could not be written to .*No space left") as raised,
            scripted_remote(shell, device_folder) as device,
        ):
            device.run(a_job(tmp_path))
        assert "Free some space" in raised.value.hint
        assert list(device_folder.iterdir()) == []


def test_a_folder_where_programs_cannot_be_executed_is_refused(shell: RemoteShell, device_folder: Path) -> None:
    with mounted(device_folder, "noexec"):
        with pytest.raises(DeviceError, match=r"Programs cannot be executed in .*Permission denied") as raised:
            RemoteFolder(shell, str(device_folder), lambda _: None).make()
        assert "--device-folder" in raised.value.hint
        assert list(device_folder.iterdir()) == []


def test_a_file_is_pushed_once_and_again_when_it_changed(
    shell: RemoteShell, tmp_path: Path, device_folder: Path
) -> None:
    said = list[str]()
    job = a_job(tmp_path)
    for content in (b"one", b"one", b"two"):
        job.model.write_bytes(content)
        folder = RemoteFolder(shell, str(device_folder), said.append)
        folder.make()
        folder.send({"model.pte": job.model})
        folder.leave()
    assert count_pushes(said) == [1, 1]
    assert (Path(folder.path) / "model.pte").read_bytes() == b"two"


def test_a_kept_folder_holds_what_was_sent_and_nothing_else(tmp_path: Path) -> None:
    folder = RemoteFolder(LocalShell(), str(tmp_path), lambda _: None)
    folder.make()
    source = tmp_path / "model.pte"
    source.write_bytes(b"model")
    folder.send({"runner/lib/a": source, "model.pte": source})
    ours = Path(folder.path)
    (ours / "out").mkdir()
    (ours / "out" / "log").touch()
    (ours / "of an earlier run").touch()
    folder.leave()
    assert sorted(str(p.relative_to(ours)) for p in ours.rglob("*") if p.is_file()) == [
        ".made-by-etprof", "model.pte", "runner/lib/a",
    ]  # fmt: skip
    again = RemoteFolder(LocalShell(), str(tmp_path), lambda _: None)
    again.make()
    again.remove()
    assert not ours.exists()


def test_programs_stay_executable_and_others_do_not_become_so(tmp_path: Path) -> None:
    folder = RemoteFolder(LocalShell(), str(tmp_path), lambda _: None)
    folder.make()
    program, text = tmp_path / "program", tmp_path / "text"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text.write_text("text")
    folder.send({"bin/program": program, "text": text})
    ours = Path(folder.path)
    assert [os.access(ours / name, os.X_OK) for name in ("bin/program", "text")] == [True, False]
    folder.remove()


def test_a_file_that_is_damaged_on_its_way_is_refused(tmp_path: Path) -> None:
    class DamagingShell(LocalShell):
        def command(self, script: str) -> list[str]:
            return super().command(script.replace("cat > model.pte.part", "tr m n > model.pte.part"))

    folder = RemoteFolder(DamagingShell(), str(tmp_path), lambda _: None)
    folder.make()
    (tmp_path / "model.pte").write_bytes(b"model")
    with pytest.raises(DeviceError, match=r"model\.pte was damaged on its way to local:shell") as raised:
        folder.send({"model.pte": tmp_path / "model.pte"})
    assert "--resume" in raised.value.hint
    folder.remove()


def test_a_file_system_without_permissions_is_refused_and_nothing_stays(tmp_path: Path) -> None:
    class CarelessShell(LocalShell):
        def command(self, script: str) -> list[str]:
            return super().command(script.replace("mkdir -m 700", "mkdir -m 755"))

    with pytest.raises(DeviceError, match=r"Other users could open a folder in .* on local:shell"):
        RemoteFolder(CarelessShell(), str(tmp_path), lambda _: None).make()
    assert list(tmp_path.iterdir()) == []


def test_permissions_that_a_parent_hands_down_do_not_open_the_folder(tmp_path: Path) -> None:
    # A default access control list takes the place of the umask; this one gives everything to everybody.
    entries = (struct.pack("<HHI", who, 7, 0xFFFFFFFF) for who in (0x01, 0x04, 0x20))
    os.setxattr(tmp_path, "system.posix_acl_default", struct.pack("<I", 2) + b"".join(entries))
    (tmp_path / "open").mkdir(mode=0o777)
    assert (tmp_path / "open").stat().st_mode & 0o077 == 0o077
    folder = RemoteFolder(LocalShell(), str(tmp_path), lambda _: None)
    folder.make()
    assert Path(folder.path).stat().st_mode & 0o077 == 0
    folder.remove()


def test_a_parent_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"There is no folder .*/nowhere on local:shell"):
        RemoteFolder(LocalShell(), str(tmp_path / "nowhere"), lambda _: None).make()


@contextmanager
def slow_network(rate: str) -> Iterator[tuple[str, ...]]:
    """What starts a program in a network whose only interface lets so much through in a second."""
    need(os.geteuid() == 0 and can_have_namespaces() and shutil.which("tc"), "this user cannot make a link slow")
    script = (
        f"ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate {rate} burst 32kb latency 200ms && "
        "echo ready && exec sleep 600"
    )
    with subprocess.Popen([*unshare(), "sh", "-c", script], stdout=subprocess.PIPE, text=True) as network:
        try:
            assert network.stdout is not None  # a pipe, as asked for
            need(network.stdout.readline() == "ready\n", "this kernel has no token bucket filter")
            yield tuple(enter(network.pid))
        finally:
            network.kill()


@pytest.mark.exhaustive
def test_a_slow_link_shows_how_far_a_push_is_and_carries_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_folder, "_REPORT_EVERY_S", 0.5)
    big, said = tmp_path / "big.bin", list[str]()
    big.write_bytes(os.urandom(6 << 20))
    with slow_network("12mbit") as launcher, running_sshd(tmp_path / "sshd", launcher) as server:
        server.use(monkeypatch)
        shell = ssh.open_shell(HOST)
        folder = RemoteFolder(shell, str(tmp_path), said.append)
        folder.make()
        try:
            start = time.monotonic()
            folder.send({"big.bin": big})
            took_s = time.monotonic() - start
            folder.forget()
            folder.send({"big.bin": big})
            assert (Path(folder.path) / "big.bin").read_bytes() == big.read_bytes()
        finally:
            folder.remove()
            shell.close()
    assert took_s > 3.0
    assert count_pushes(said) == [1]
    sent = [float(line.split(": ")[1].split()[0]) for line in said if " of 6.0 MiB" in line]
    assert len(sent) >= 3
    assert sent == sorted(set(sent))
