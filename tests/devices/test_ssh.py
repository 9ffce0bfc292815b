"""Reaching a machine by ssh: a real server and client, and every way in which they do not meet."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from etprof.core.errors import DependencyError, DeviceError, UsageError
from etprof.devices.shell import ConnectionLostError, run_script
from etprof.devices.ssh import open_shell
from parts import need
from sshd import HOST, Sshd, running_sshd


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
    with pytest.raises(DeviceError, match=f"The host key of {HOST} has changed") as raised:
        open_shell(HOST)
    assert f"ssh-keygen -R {HOST}" in raised.value.hint
    assert not isinstance(raised.value, ConnectionLostError)


def test_an_unknown_host_key_is_not_accepted_silently(sshd: Sshd) -> None:
    (sshd.folder / "known_hosts").write_text("")
    with pytest.raises(DeviceError, match="is not known here"):
        open_shell(HOST)


def test_a_refused_key_says_what_to_load(sshd: Sshd) -> None:
    (sshd.folder / "authorized_keys").write_text("")
    with pytest.raises(DeviceError, match=f"{HOST} rejected your key") as raised:
        open_shell(HOST)
    assert "ssh-add" in raised.value.hint


def test_a_server_that_is_not_there(sshd: Sshd) -> None:
    sshd.stop()
    with pytest.raises(ConnectionLostError, match="Connection refused"):
        open_shell(HOST)


def test_without_ssh_the_message_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match="ssh is not installed"):
        open_shell(HOST)


@pytest.mark.parametrize("place", ["", "-oProxyCommand=id", "a host", "host:port"])
def test_an_address_that_is_not_valid_is_refused(place: str) -> None:
    with pytest.raises(UsageError, match="is not a valid ssh address"):
        open_shell(place)


def test_nothing_is_left_of_a_connection(sshd: Sshd) -> None:
    shell = open_shell(HOST)
    shell.close()
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=30).stdout
    assert str(shell.folder) not in running


def test_a_jump_host_of_the_configuration_is_used(sshd: Sshd, tmp_path: Path) -> None:
    with running_sshd(tmp_path / "jump") as jump:
        ours, theirs = (server.folder / "ssh_config" for server in (sshd, jump))
        ours.write_text(f"Match originalhost {HOST}\n  ProxyJump jump\n{ours.read_text()}")
        ours.write_text(ours.read_text() + theirs.read_text().replace(f"Host {HOST}\n", "Host jump\n", 1))
        known = sshd.folder / "known_hosts"
        known.write_text(known.read_text() + (jump.folder / "known_hosts").read_text())
        shell = open_shell(HOST)
        try:
            assert run_script(shell, "echo $((40 + 2))").text.strip() == "42"
        finally:
            shell.close()
        for server in (sshd, jump):
            assert (server.folder / "sshd.log").read_text().count("Accepted publickey") == 1


def test_a_key_that_only_the_agent_has_is_enough(sshd: Sshd, tmp_path: Path) -> None:
    need(shutil.which("ssh-agent"), "there is no ssh-agent")
    socket, key, config = tmp_path / "agent", sshd.folder / "user_key", sshd.folder / "ssh_config"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
        try:
            deadline = time.monotonic() + 10
            while not socket.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            environment = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
            subprocess.run(["ssh-add", "-q", str(key)], env=environment, check=True, timeout=30)
            key.unlink()
            text = config.read_text().replace("IdentityAgent none", f"IdentityAgent {socket}")
            config.write_text(text.replace(f"  IdentityFile {key}\n  IdentitiesOnly yes\n", ""))
            shell = open_shell(HOST)
            assert run_script(shell, "true").exit_code == 0
            shell.close()
        finally:
            agent.kill()
