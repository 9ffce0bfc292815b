"""Whatever ends a run, the device restores its settings by itself, and gives its turn to the next one."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from adbd import SERIAL
from android_settings import PREPARED, RESTORED, read, settings_on_path, settings_over_ssh
from etprof.core.errors import DeviceError
from etprof.devices import android, keeper, ssh
from etprof.devices.keeper import Keeper
from etprof.devices.preparation import prepare
from local_shell import LocalShell
from program_builder import build_program
from real_devices import Link
from sshd import HOST
from stock_runner import make_stock_runner

# Real daemons, and time limits that a busy machine would miss.
pytestmark = pytest.mark.alone

# Each ends on its own or with a word; only the first leaves nothing to us.
_SIGNALS = [
    signal.SIGKILL,
    pytest.param(signal.SIGTERM, marks=pytest.mark.exhaustive),
    pytest.param(signal.SIGHUP, marks=pytest.mark.exhaustive),
]


@dataclass(frozen=True)
class Phone:
    """A device with settings, by the name that `--device` takes."""

    name: str
    link: Link
    values: Path

    def is_restored(self) -> bool:
        return read(self.values) == RESTORED


@pytest.fixture(params=["ssh", "android"])
def phone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Phone:
    if request.param == "ssh":
        sshd = request.getfixturevalue("sshd")
        values = settings_over_ssh(sshd, tmp_path)
        return Phone(f"ssh:{HOST}", Link(lambda: ssh.open_shell(HOST), sshd), values)
    values = settings_on_path(monkeypatch, tmp_path)
    adbd = request.getfixturevalue("adbd")
    return Phone(f"android:{SERIAL}", Link(lambda: android.open_shell(SERIAL), adbd), values)


def comes_true(condition: Callable[[], bool], within_s: float = 15.0) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def a_long_run(folder: Path, phone: Phone, device_folder: Path, mark: Path) -> list[str]:
    """The command line of a run that prepares the device; its first block writes its process to `mark`, and waits."""
    (folder / "model.pte").write_bytes(build_program())
    runner = make_stock_runner(folder / "executor_runner")
    plan = {
        "model": "model.pte",
        "output_root": "run",
        "experiments": [
            {
                "name": "on", "runner_path": str(runner), "runs": 1,
                "launcher": ["sh", "-c", f"echo $$ > {mark}.part; mv {mark}.part {mark}; sleep 60"],
            }
        ],
    }  # fmt: skip
    (folder / "plan.json").write_text(json.dumps(plan))
    options = ["--device", phone.name, "--device-folder", str(device_folder), "--prepare"]
    return [sys.executable, "-m", "etprof", "run", "plan.json", *options]


@pytest.mark.parametrize("number", _SIGNALS)
def test_a_killed_run_leaves_a_device_that_restores_itself(
    phone: Phone, tmp_path: Path, device_folder: Path, number: signal.Signals
) -> None:
    mark = tmp_path / "mark"
    command = a_long_run(tmp_path, phone, device_folder, mark)
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
        assert comes_true(lambda: mark.exists() or run.poll() is not None, within_s=30)
        assert run.poll() is None, run.communicate()[1]
        assert read(phone.values) == PREPARED
        run.send_signal(number)
    assert comes_true(phone.is_restored)
    assert comes_true(lambda: not Path(f"/proc/{mark.read_text().strip()}/cmdline").is_file())
    # Who was not killed has cleaned up behind itself; the folder of the other is taken over by the next run.
    assert len(list(device_folder.iterdir())) == (1 if number == signal.SIGKILL else 0)
    with closing(phone.link.open_shell()) as shell, closing(Keeper(shell, print)) as next_one:
        assert next_one.start(wait=True) < 15
        assert next_one.is_locked


def test_a_device_that_is_lost_restores_itself_and_is_prepared_again_when_it_is_back(phone: Phone) -> None:
    with closing(phone.link.open_shell()) as shell, closing(Keeper(shell, print)) as held:
        held.start(wait=False)
        prepare(held, print)
        assert read(phone.values) == PREPARED
        phone.link.cut()
        assert comes_true(phone.is_restored)
        phone.link.mend()
        assert comes_true(shell.reconnect)
        assert held.ensure()
        prepare(held, print)
        assert read(phone.values) == PREPARED
        assert not held.ensure()
    assert comes_true(phone.is_restored)


def test_a_connection_that_falls_silent_is_taken_for_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_BEAT_S", 60.0)
    undone = tmp_path / "undone"
    with closing(Keeper(LocalShell(), print, silence_s=1)) as held:
        held.start(wait=False)
        held.remember(f"echo yes > {undone}")
        assert comes_true(undone.exists)


def test_a_connection_that_is_only_idle_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_BEAT_S", 0.2)
    undone = tmp_path / "undone"
    with closing(Keeper(LocalShell(), print, silence_s=1)) as held:
        held.start(wait=False)
        held.remember(f"echo yes > {undone}")
        assert not comes_true(undone.exists, within_s=2.0)
        assert not held.ensure()


def test_a_change_that_failed_is_not_undone_and_a_failed_undo_is_named(tmp_path: Path) -> None:
    undone = tmp_path / "undone"
    with closing(Keeper(LocalShell(), print)) as held:
        held.start(wait=False)
        for text in (r"a 'b' \n $HOME", "never made"):
            held.remember(f"printf '%s\\n' {shlex.quote(text)} >> {undone}")
        held.forget()
        held.remember("false")
        held.remember(f"echo last >> {undone}")
        assert held.restore() == ["false"]
        assert undone.read_text() == "last\na 'b' \\n $HOME\n"
        assert held.restore() == []


def test_a_keeper_that_was_killed_is_started_again_with_what_it_knew(tmp_path: Path) -> None:
    undone, pid = tmp_path / "undone", tmp_path / "pid"
    with closing(Keeper(LocalShell(), print)) as held:
        held.start(wait=False)
        held.remember(f"echo $$ > {pid}")
        assert held.restore() == []
        held.remember(f"echo yes >> {undone}")
        os.kill(int(pid.read_text()), signal.SIGKILL)
        assert held.ensure()
        assert not undone.exists()
    assert undone.read_text() == "yes\n"


@dataclass
class BareShell(LocalShell):
    """A device that has none of the programs a keeper can do without; PATH is a folder with the others."""

    programs: Path = Path()

    def command(self, script: str) -> list[str]:
        return ["env", f"PATH={self.programs}", *super().command(script)]


def test_a_device_without_flock_and_timeout_says_so_and_restores_itself_all_the_same(tmp_path: Path) -> None:
    programs, undone, said = tmp_path / "bin", tmp_path / "undone", list[str]()
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    with closing(Keeper(BareShell(programs=programs), said.append)) as held:
        held.start(wait=False)
        assert not held.is_locked
        held.remember(f"echo yes > {undone}")
        assert not held.ensure()
    assert undone.read_text() == "yes\n"
    assert said == ["local:shell has no flock: other runs are not waited for, and nothing is kept there."]


@dataclass
class TalkingShell(LocalShell):
    """A device that answers with whatever it was given to say, and waits."""

    words: str = ""

    def command(self, script: str) -> list[str]:
        return super().command(f"{self.words}; cat > /dev/null")


@pytest.mark.parametrize(
    "words",
    [
        "printf 'Welcome!\\netprof-keeper held\\netprof-keeper failed 99\\netprof-keeper restored\\n'",
        "echo etprof-keeper held; while :; do echo etprof-keeper failed 0; done",
        "printf 'etprof-keeper held\\n\\377\\000etprof'; head -c 100000 /dev/zero; exit",
    ],
    ids=["nonsense", "endless", "bytes"],
)
def test_answers_that_make_no_sense_end_in_an_error_of_ours_or_in_nothing(words: str) -> None:
    with closing(Keeper(TalkingShell(words=words), print)) as held:
        held.start(wait=False)
        with suppress(DeviceError):
            assert held.restore() == []
