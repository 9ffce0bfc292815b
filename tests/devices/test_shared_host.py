"""A machine that others can log in to as well: what they prepare, put in place or change reaches no run of ours."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from etprof.core.errors import DeviceError
from etprof.devices import ssh
from etprof.devices.remote_folder import RemoteFolder
from etprof.devices.shell import RemoteShell
from parts import need
from scripted_device import a_job
from scripted_remote import scripted_remote
from sshd import HOST, Sshd

# A real server, and a second user of this machine.

_OTHER_USER = 65534
# A folder as ours look, with a runner in it that tells when it was started.
_PREPARE = """
umask 000
mkdir -p "$1/runner" && : > "$1/.made-by-etprof" && printf '#!/bin/sh\\ntouch {started}\\n' > "$1/runner/go"
chmod 777 "$1/runner/go"
"""


@dataclass(frozen=True)
class Host:
    """`shared` is a folder as /var/tmp: everybody may write to it, and remove what is their own."""

    shared: Path
    shell: RemoteShell

    def other(self, script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """What another user does there."""
        return subprocess.run(
            ["sh", "-c", script, "sh", *arguments], cwd=self.shared, user=_OTHER_USER, group=_OTHER_USER,
            extra_groups=[], capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

    @property
    def family(self) -> str:
        """The beginning of the names of our folders, which anybody can find out."""
        return Path(RemoteFolder(self.shell, str(self.shared), print).path).name.rpartition("-")[0]


@pytest.fixture
def host(sshd: Sshd) -> Iterator[Host]:
    need(os.geteuid() == 0, "this user cannot act as another one")
    shared = Path(tempfile.mkdtemp(dir="/var/tmp"))
    shared.chmod(0o1777)
    shell = ssh.open_shell(HOST)
    yield Host(shared, shell)
    shell.close()
    shutil.rmtree(shared)


def test_what_another_user_prepared_is_neither_used_nor_removed(host: Host, tmp_path: Path) -> None:
    started = host.shared / "started"
    names = [host.family, f"{host.family}-0", f"{host.family}-1 $(touch started); *"]
    for name in names:
        done = host.other(_PREPARE.format(started=started), name)
        assert done.returncode == 0, done.stderr
    host.other(f"ln -s {host.family}-0 {host.family}-2; ln -s /etc {host.family}-3")
    prepared = sorted(path.name for path in host.shared.rglob("*"))
    with scripted_remote(host.shell, host.shared) as device:
        ours = Path(device.folder.path)
        assert ours.name not in prepared
        assert (ours.stat().st_uid, ours.stat().st_mode & 0o777) == (os.getuid(), 0o700)
        assert device.run(a_job(tmp_path)).problem == ""
        assert {path.stat().st_mode & 0o077 for path in ours.rglob("*")} == {0}
        assert device.folder.remove_all() == [str(ours)]
    assert sorted(path.name for path in host.shared.rglob("*")) == prepared
    assert not started.exists()


def test_nobody_changes_a_runner_between_its_digest_and_its_start(host: Host, tmp_path: Path) -> None:
    tries = list[str]()

    def attack(script: str) -> None:
        if "state_before" not in script:
            return
        (ours,) = host.shared.iterdir()
        assert (ours / "runner" / "scripted.py").exists()
        host.other("mkdir evil && printf 'raise SystemExit(99)' > evil/scripted.py && chmod -R 777 evil")
        for command in (
            f"cp evil/scripted.py {ours.name}/runner/scripted.py",
            f"mv evil/scripted.py {ours.name}/runner/scripted.py",
            f"ls {ours.name}",
            f"cat {ours.name}/runner/scripted.py",
            f"chmod 777 {ours.name}",
            f"mv {ours.name} away",
            f"rm -rf {ours.name}",
            f"ln -sfn evil {ours.name}/runner",
        ):
            assert host.other(command).returncode != 0, command
            tries.append(command)

    with scripted_remote(Watched(host.shell, attack), host.shared) as device:
        assert device.run(a_job(tmp_path)).problem == ""
    assert len(tries) == 8
    assert [path.name for path in host.shared.iterdir()] == ["evil"]


@pytest.mark.parametrize("change", ["open", "link", "theirs"])
def test_a_folder_that_is_not_ours_alone_any_more_is_refused(host: Host, tmp_path: Path, change: str) -> None:
    job = a_job(tmp_path)
    with scripted_remote(host.shell, host.shared) as device:
        assert device.run(job).problem == ""
        ours, away = Path(device.folder.path), host.shared / "away"
        if change == "open":
            ours.chmod(0o770)
        else:
            # Only where others may write and names are not protected, or by an administrator.
            ours.rename(away)
            host.other(_PREPARE.format(started=host.shared / "started"), ours.name if change == "theirs" else "evil")
        if change == "link":
            ours.symlink_to("evil")
        with pytest.raises(DeviceError, match="it is not ours alone any more"):
            device.run(job)
    assert not (host.shared / "started").exists()


def test_what_was_kept_is_used_again_and_what_was_opened_to_others_is_not(host: Host, tmp_path: Path) -> None:
    model = tmp_path / "model.pte"
    model.write_bytes(b"model")

    def keep() -> Path:
        folder = RemoteFolder(host.shell, str(host.shared), said.append)
        folder.make()
        folder.send({"model.pte": model})
        folder.leave()
        return Path(folder.path)

    said = list[str]()
    first, again = keep(), keep()
    assert (first, len(said)) == (again, 1)
    first.chmod(0o755)
    assert keep() != first
    assert len(said) == 2
    removed = RemoteFolder(host.shell, str(host.shared), print).remove_all()
    assert len(removed) == 2
    assert list(host.shared.iterdir()) == []


@dataclass(frozen=True)
class Watched:
    """A shell that does something before each script."""

    shell: RemoteShell
    before: Callable[[str], None]

    @property
    def name(self) -> str:
        return self.shell.name

    def command(self, script: str) -> list[str]:
        self.before(script)
        return self.shell.command(script)

    def explain(self, said: str) -> DeviceError:
        return self.shell.explain(said)

    def reconnect(self) -> bool:
        return self.shell.reconnect()

    def close(self) -> None:
        """The connection is closed with the fixture's shell."""
