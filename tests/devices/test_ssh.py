"""Reaching a machine by ssh: a real server and client, and every way in which they do not meet."""

import subprocess
from pathlib import Path

import pytest

from etprof.core.errors import DependencyError, DeviceError, UsageError
from etprof.devices.shell import ConnectionLostError, run_script
from etprof.devices.ssh import open_shell
from sshd import HOST, Sshd


def test_scripts_share_one_connection(sshd: Sshd) -> None:
    shell = open_shell(HOST)
    try:
        connections = [run_script(shell, "echo $PPID; exit 7") for _ in range(3)]
    finally:
        shell.close()
    assert [done.exit_code for done in connections] == [7, 7, 7]
    log = (sshd.folder / "sshd.log").read_text()
    assert log.count("Accepted publickey") == 1
    assert not shell.folder.exists()


def test_a_port_can_be_named(sshd: Sshd) -> None:
    shell = open_shell(f"{HOST}:{sshd.port}")
    assert shell.name == f"ssh:{HOST}:{sshd.port}"
    assert run_script(shell, "true").exit_code == 0
    shell.close()


def test_a_changed_host_key_stops_everything(sshd: Sshd) -> None:
    sshd.stop()
    sshd.new_host_key()
    sshd.start()
    with pytest.raises(DeviceError, match="another host key than before") as raised:
        open_shell(HOST)
    assert f"ssh-keygen -R {HOST}" in raised.value.hint
    assert not isinstance(raised.value, ConnectionLostError)


def test_an_unknown_host_key_is_not_accepted_silently(sshd: Sshd) -> None:
    (sshd.folder / "known_hosts").write_text("")
    with pytest.raises(DeviceError, match="is not known here"):
        open_shell(HOST)


def test_a_refused_key_says_what_to_load(sshd: Sshd) -> None:
    (sshd.folder / "authorized_keys").write_text("")
    with pytest.raises(DeviceError, match="does not let you in") as raised:
        open_shell(HOST)
    assert "ssh-add" in raised.value.hint


def test_a_server_that_is_not_there(sshd: Sshd) -> None:
    sshd.stop()
    with pytest.raises(ConnectionLostError, match="Connection refused"):
        open_shell(HOST)


def test_without_ssh_the_message_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match="no ssh"):
        open_shell(HOST)


@pytest.mark.parametrize("place", ["", "-oProxyCommand=id", "a host", "host:port"])
def test_a_place_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(UsageError, match="is not a place"):
        open_shell(place)


def test_nothing_is_left_of_a_connection(sshd: Sshd) -> None:
    shell = open_shell(HOST)
    shell.close()
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=30).stdout
    assert str(shell.folder) not in running
