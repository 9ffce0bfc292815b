"""Measurements on one machine take turns, by whatever name it is reached."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from etprof.core.errors import DeviceError
from etprof.devices import ssh
from etprof.devices.keeper import Keeper
from etprof.devices.shell import Progress
from etprof.devices.turns import LOCKED, VARIABLE, host_turn
from local_shell import LocalShell
from namespace import can_have_namespaces, unshare
from parts import need
from sshd import HOST, Sshd

# In a network of its own, and therefore with kernel files of its own, nobody else is measuring.
_ALONE = 'mount -t sysfs none /sys && exec "$@"'
_TWICE = """
from etprof.devices.turns import host_turn
with host_turn(False, print):
    print("first")
    with host_turn(False, print):
        print("both")
"""


@pytest.fixture(autouse=True)
def lock_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "lock"
    file.write_text("precious")
    file.chmod(0o444)
    monkeypatch.setenv(VARIABLE, str(file))
    return file


@pytest.fixture(params=["here", "device"])
def taken(request: pytest.FixtureRequest) -> Iterator[threading.Event]:
    """Another run is measuring, here or through a shell, until the event is set."""
    ready, over = threading.Event(), threading.Event()

    def measure() -> None:
        if request.param == "here":
            with host_turn(False, print):
                ready.set()
                over.wait(30)
        else:
            with closing(Keeper(LocalShell(), print)) as keeper:
                keeper.start(wait=False)
                ready.set()
                over.wait(30)

    thread = threading.Thread(target=measure)
    thread.start()
    assert ready.wait(10)
    yield over
    over.set()
    thread.join()


def take(how: str, wait: bool, progress: Progress) -> float:
    if how == "here":
        with host_turn(wait, progress) as waited_s:
            return waited_s
    with closing(Keeper(LocalShell(), progress)) as keeper:
        return keeper.start(wait=wait)


@pytest.mark.parametrize("how", ["here", "device"])
def test_who_does_not_wait_is_refused(taken: threading.Event, how: str) -> None:
    with pytest.raises(DeviceError, match="Another run is measuring on ") as raised:
        take(how, False, print)
    assert raised.value.hint == "Try again when it has ended."
    taken.set()


@pytest.mark.parametrize("how", ["here", "device"])
def test_who_waits_says_so_and_gets_the_next_turn(taken: threading.Event, how: str) -> None:
    said = list[str]()

    def hear(text: str) -> None:
        said.append(text)
        threading.Timer(0.2, taken.set).start()

    assert take(how, True, hear) >= 0.2
    (sentence,) = said
    assert sentence.startswith("Another run is measuring on ")
    assert sentence.endswith(": waiting until it has ended (--no-wait fails instead).")


def test_who_is_interrupted_while_it_waits_leaves_no_place_taken(taken: threading.Event) -> None:
    def interrupt(_text: str) -> None:
        raise KeyboardInterrupt

    for how in ("here", "device"):
        with pytest.raises(KeyboardInterrupt):
            take(how, True, interrupt)
    taken.set()
    assert take("here", True, print) < 10


def test_a_lock_is_neither_written_nor_left(lock_file: Path) -> None:
    with host_turn(False, print) as waited_s:
        assert waited_s < 1
    with closing(Keeper(LocalShell(), print)) as keeper:
        keeper.start(wait=False)
    assert lock_file.read_text() == "precious"
    assert [path.name for path in lock_file.parent.iterdir()] == ["lock"]


def test_a_lock_ends_with_its_process() -> None:
    script = "from etprof.devices.turns import host_turn\nwith host_turn(False, print): print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None  # a pipe, as asked for
        holder.stdout.readline()
        with pytest.raises(DeviceError, match="Another run is measuring"):
            take("here", False, print)
        holder.kill()
    assert take("here", False, print) < 1


def test_a_file_that_cannot_be_locked_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DeviceError, match="nowhere cannot be locked: No such file or directory") as raised:
        take("here", True, print)
    assert VARIABLE in raised.value.hint


def test_without_a_word_of_the_user_the_lock_is_a_file_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    need(can_have_namespaces(), "this system gives no network namespace")
    monkeypatch.delenv(VARIABLE)
    state = Path(LOCKED).stat()
    assert (state.st_uid, state.st_mode & 0o022) == (0, 0)
    command = [*unshare(), "--mount", "sh", "-c", _ALONE, "sh", sys.executable, "-c", _TWICE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    need("mount:" not in done.stderr, "this user may not mount")
    assert done.stdout == "first\n"
    assert "Another run is measuring on this machine." in done.stderr


@pytest.mark.alone
def test_this_machine_by_ssh_and_by_itself_is_one(sshd: Sshd, lock_file: Path) -> None:
    configuration = sshd.folder / "sshd_config"
    lines = [line for line in configuration.read_text().splitlines() if VARIABLE not in line]
    configuration.write_text("\n".join([*lines, f"SetEnv {VARIABLE}={lock_file} HOME={sshd.folder}\n"]))
    sshd.stop()
    sshd.start()
    with closing(ssh.open_shell(HOST)) as shell, closing(Keeper(shell, print)) as keeper:
        with host_turn(False, print), pytest.raises(DeviceError, match=f"Another run is measuring on ssh:{HOST}"):
            keeper.start(wait=False)
        keeper.start(wait=True)
        with pytest.raises(DeviceError, match="Another run is measuring on this machine"), host_turn(False, print):
            pass
