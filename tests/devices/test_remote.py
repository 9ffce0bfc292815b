"""A device behind a real shell, and everything that can happen to it in the middle of something."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adbd import AdbDevice
from etprof.core.errors import DeviceError
from etprof.core.run import Job
from etprof.devices.base import runner_flags
from etprof.devices.remote import RemoteCommand
from etprof.devices.shell import ConnectionLostError, RemoteShell
from etprof.store.session_file import load_session
from mounts import mounted
from real_devices import Link
from scripted_device import a_job, a_runnable_plan, run_scripted, with_experiment
from scripted_remote import scripted_remote

# Real daemons, and time limits that a busy machine would miss.

# A launcher whose first try waits for the cable to be pulled; the file it is given shows that it waits.
_WAITS_ONCE = 'if [ -e "$1" ]; then shift; exec "$@"; fi; echo $$ > "$1"; sleep 60'


def waits_once(job: Job, mark: Path) -> Job:
    return with_experiment(job, launcher=("sh", "-c", _WAITS_ONCE, "sh", str(mark)))


@contextmanager
def meanwhile(condition: Callable[[], bool], action: Callable[[], None]) -> Iterator[None]:
    """Does something as soon as a condition holds, while the body goes on."""

    def watch() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if condition():
                action()
                return
            time.sleep(0.002)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def comes_true(condition: Callable[[], bool], within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_a_device_lost_during_a_block_is_waited_for_and_the_block_run_again(
    link: Link, tmp_path: Path, device_folder: Path
) -> None:
    mark, said = tmp_path / "mark", list[str]()

    def pull_and_plug() -> None:
        link.cut()
        time.sleep(1)
        link.mend()

    with (
        scripted_remote(link.open_shell(), device_folder, progress=said.append) as device,
        meanwhile(lambda: mark.exists() and bool(mark.read_text()), pull_and_plug),
    ):
        outcome = device.run(waits_once(a_job(tmp_path), mark))
    assert (outcome.exit_code, outcome.problem) == (0, "")
    assert outcome.interruptions == (f"{device.shell.name} was lost",)
    assert said[-1] == f"{device.shell.name} is back"
    assert comes_true(lambda: not is_running(int(mark.read_text())))
    assert list(device_folder.iterdir()) == []


def test_a_device_lost_during_a_push_gets_only_what_it_does_not_have(
    link: Link, tmp_path: Path, device_folder: Path
) -> None:
    job, said = a_job(tmp_path), list[str]()
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(1 << 20) * 128)
    job = replace(job, inputs=(*job.inputs, big))

    def pull_and_plug() -> None:
        link.cut()
        time.sleep(0.5)
        link.mend()

    with scripted_remote(link.open_shell(), device_folder, progress=said.append) as device:
        folder = Path(device.folder.path)
        with meanwhile(lambda: any(p.stat().st_size > 1 << 20 for p in folder.glob("input_*.part")), pull_and_plug):
            outcome = device.run(job)
    assert outcome.problem == ""
    assert len(outcome.interruptions) == 1
    pushes = [line for line in said if line.startswith("pushing") and " of " not in line]
    # The runner and the small files arrived before the cable was pulled; the second time only the big one is sent.
    assert [line.split()[1] for line in pushes] == ["4", "1"]


def test_a_device_that_does_not_come_back_ends_the_run_which_can_be_resumed(
    link: Link, tmp_path: Path, device_folder: Path
) -> None:
    hang, hangs = tmp_path / "hang", tmp_path / "hangs"
    # The first block succeeds and makes the second one wait for the cable to be pulled.
    launcher = ("sh", "-c", f'[ -e "{hang}" ] && echo > "{hangs}" && sleep 60; touch "{hang}"; exec "$@"', "sh")
    plan = a_runnable_plan(tmp_path, blocks=2)
    plan = replace(plan, experiments=tuple(replace(e, launcher=launcher) for e in plan.experiments))
    with (
        pytest.raises(ConnectionLostError) as raised,
        scripted_remote(link.open_shell(), device_folder, patience_s=0.5) as device,
        meanwhile(hangs.exists, link.cut),
    ):
        run_scripted(plan, device)
    assert "--resume" in raised.value.hint
    assert [result.is_ok for result in load_session(plan.output_root).results] == [True]
    # Nothing runs on although nobody can reach the device any more.
    assert comes_true(lambda: not _processes_in(device_folder))

    link.mend()
    if isinstance(link.daemon, AdbDevice):
        link.daemon.wait_for()
    hangs.unlink()
    hangs.mkdir()
    with scripted_remote(link.open_shell(), device_folder) as device:
        session = run_scripted(plan, device, resume=True).session
    assert [result.is_ok for result in session.results] == [True] * 4
    assert list(device_folder.iterdir()) == []


def _processes_in(folder: Path) -> str:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "cwd").readlink()).startswith(str(folder)):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return "\n".join(found)


def test_a_runner_without_end_is_stopped_on_the_device(link: Link, tmp_path: Path, device_folder: Path) -> None:
    job = replace(waits_once(a_job(tmp_path), tmp_path / "mark"), timeout_s=1.0)
    with scripted_remote(link.open_shell(), device_folder) as device:
        outcome = device.run(job)
    assert outcome.problem == "timed out after 1 s"
    assert not is_running(int((tmp_path / "mark").read_text()))


def test_a_killed_shell_is_noticed_and_the_block_run_again(link: Link, tmp_path: Path, device_folder: Path) -> None:
    mark = tmp_path / "mark"

    def kill_the_shell() -> None:
        runner = int(mark.read_text())
        parent = int(Path(f"/proc/{runner}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)

    with (
        scripted_remote(link.open_shell(), device_folder) as device,
        meanwhile(lambda: mark.exists() and bool(mark.read_text()), kill_the_shell),
    ):
        outcome = device.run(waits_once(a_job(tmp_path), mark))
    assert (outcome.problem, len(outcome.interruptions)) == ("", 1)
    assert comes_true(lambda: not is_running(int(mark.read_text())))


def test_the_runner_keeps_to_the_cores_asked_for_and_others_are_refused(
    shell: RemoteShell, tmp_path: Path, device_folder: Path
) -> None:
    job = with_experiment(a_job(tmp_path), cpu_affinity=(1,))
    with scripted_remote(shell, device_folder) as device:
        assert device.run(job).problem == ""
        assert '"cpu_affinity": [1]' in job.result.read_text()
        with pytest.raises(DeviceError, match="do not exist: 77"):
            device.run(with_experiment(job, cpu_affinity=(0, 77)))


def test_a_missing_library_is_named(shell: RemoteShell, tmp_path: Path, device_folder: Path) -> None:
    source, library = tmp_path / "main.c", tmp_path / "libneeded.so"
    source.write_text("int needed(void); int main(void) { return needed(); }")
    subprocess.run(["gcc", "-shared", "-o", library, "-x", "c", "-"], input=b"int needed(void){return 0;}", check=True)
    runner = tmp_path / "runner"
    subprocess.run(["gcc", "-o", runner, source, library], check=True)
    library.rename(tmp_path / "elsewhere.so")

    def command_for(job: Job) -> RemoteCommand:
        return RemoteCommand(("named/runner", *runner_flags(job)), {"named/runner": runner})

    with scripted_remote(shell, device_folder, command_for=command_for) as device:
        outcome = device.run(a_job(tmp_path))
    assert "needs" in outcome.problem
    assert "libneeded.so, which the device does not have" in outcome.problem


def test_odd_names_are_safe_on_the_remote_shell(shell: RemoteShell, tmp_path: Path, device_folder: Path) -> None:
    odd = "a b'c\"d$HOME`id`;e\\f"
    job = with_experiment(a_job(tmp_path), extra_args=("--output", odd), launcher=("env", f"NAME={odd}"))
    with scripted_remote(shell, device_folder) as device:
        assert device.run(job).problem == ""
    assert (job.outputs / "output_0.bin").read_bytes() == odd.encode().ljust(8, b"\0")


def test_a_folder_that_fills_up_during_a_block_fails_the_block_only(
    shell: RemoteShell, tmp_path: Path, device_folder: Path
) -> None:
    fill = ("sh", "-c", 'dd if=/dev/zero of=out/fill bs=1M 2>/dev/null; exec "$@"', "sh")
    with mounted(device_folder, "size=12m"), scripted_remote(shell, device_folder) as device:
        outcome = device.run(with_experiment(a_job(tmp_path), launcher=fill))
        assert outcome.exit_code != 0
        assert device.run(a_job(tmp_path)).problem == ""


def test_the_state_of_the_device_is_read_around_a_block(
    shell: RemoteShell, tmp_path: Path, device_folder: Path
) -> None:
    with scripted_remote(shell, device_folder) as device:
        outcome = device.run(a_job(tmp_path))
    for state in (outcome.before, outcome.after):
        assert state is not None
        assert state.load_average is not None
