"""A command that is ended from outside cleans up and keeps what it measured; one that is killed leaves no runner."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.cli.main import main
from etprof.core.plan import Plan
from etprof.store.plan_file import save_plan
from etprof.store.session_file import load_session
from parts import need
from real_devices import adbd, sshd  # noqa: F401
from scripted_etprof import find_processes, start_etprof, wait_until, write_runnable_plan


@pytest.fixture
def hanging(tmp_path: Path) -> tuple[Plan, Path]:
    """Its first block ends, its second does not."""
    need(sys.platform == "linux", "processes are found in /proc")
    return write_runnable_plan(tmp_path, on="hang")


def run_until_it_hangs(
    plan: Plan, file: Path, *options: str, launcher: tuple[str, ...] = ()
) -> "subprocess.Popen[str]":
    process = start_etprof("run", file, *options, launcher=launcher)
    log = plan.output_root / "on" / "on_t1.log"
    wait_until(lambda: process.poll() is not None or (log.exists() and "hang" in log.read_text()), "a block that hangs")
    assert process.poll() is None, process.communicate()[1]
    return process


@pytest.mark.parametrize(("first", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["TERM", "HUP"])
def test_a_signal_ends_a_run_as_control_c_does(hanging: tuple[Plan, Path], first: int, code: int) -> None:
    plan, file = hanging
    cleaned = file.with_name("cleaned")
    process = run_until_it_hangs(plan, file, "--device", f"scripted:closing:{cleaned}")
    process.send_signal(first)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == code
    assert "every finished block is kept; --resume continues the run" in said
    assert "Traceback" not in said
    assert cleaned.exists(), "the device was closed"
    assert [result.name for result in load_session(plan.output_root).results] == ["off_t1, block 1"]
    assert find_processes(plan.output_root) == []


def test_the_next_signal_does_not_cut_the_cleaning_short(hanging: tuple[Plan, Path]) -> None:
    plan, file = hanging
    cleaned = file.with_name("cleaned")
    process = run_until_it_hangs(plan, file, "--device", f"scripted:closing:{cleaned}")
    for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM):
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.1)
    process.communicate(timeout=20)
    assert (process.returncode, cleaned.exists()) == (129, True)


def test_what_is_ignored_stays_ignored(hanging: tuple[Plan, Path]) -> None:
    """As with `nohup`, and in the background of a script, where Ctrl-C is ignored and SIGTERM is not."""
    plan, file = hanging
    launcher = ("sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh")
    process = run_until_it_hangs(plan, file, "--device", "scripted", launcher=launcher)
    for number in (signal.SIGHUP, signal.SIGINT):
        process.send_signal(number)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 143


def test_a_handler_of_the_program_around_it_stays() -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        mine = signal.getsignal(signal.SIGTERM)
        assert main(["--version"]) == 0
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)
    assert main(["--version"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_command_may_run_in_any_thread() -> None:
    codes = list[int]()
    thread = threading.Thread(target=lambda: codes.append(main(["--version"])))
    thread.start()
    thread.join()
    assert codes == [0]


@pytest.mark.parametrize("launcher", [(), ("sh", "-c", '"$@"; true', "sh")], ids=["runner", "behind a launcher"])
def test_a_runner_ends_when_etprof_is_killed(hanging: tuple[Plan, Path], launcher: tuple[str, ...]) -> None:
    plan, file = hanging
    save_plan(file, replace(plan, experiments=tuple(replace(e, launcher=launcher) for e in plan.experiments)))
    process = run_until_it_hangs(plan, file, "--device", "scripted")
    assert len(find_processes(plan.output_root)) == 1 + bool(launcher)
    process.kill()
    process.communicate()
    wait_until(lambda: not find_processes(plan.output_root), "the end of the runner")
    assert len(load_session(plan.output_root).results) == 1


@pytest.fixture(params=["ssh", pytest.param("android", marks=pytest.mark.exhaustive)])
def on_a_device(
    request: pytest.FixtureRequest, hanging: tuple[Plan, Path], tmp_path: Path
) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A run whose block hangs on a real device, and the folder that it may use there."""
    request.getfixturevalue({"ssh": "sshd", "android": "adbd"}[request.param])
    there = tmp_path / "device"
    there.mkdir()
    with start_etprof("run", hanging[1], "--device", f"scripted:{request.param}:{there}") as process:
        wait_until(lambda: process.poll() is not None or _is_hanging(there), "a block that hangs")
        assert process.poll() is None, process.communicate()[1]
        yield process, there
        process.kill()


@pytest.mark.alone
def test_a_runner_on_a_device_ends_when_etprof_is_killed(
    on_a_device: tuple["subprocess.Popen[str]", Path],
) -> None:
    process, there = on_a_device
    # The client of the block's script and, for ssh, the connection that all scripts share.
    started = _children_of(process.pid)
    assert started
    process.kill()
    process.communicate()
    wait_until(lambda: not find_processes(there), "the end of the runner")
    wait_until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], "the end of the connection")


@pytest.mark.alone
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.exhaustive)]
)
def test_a_signal_leaves_nothing_on_a_device(
    on_a_device: tuple["subprocess.Popen[str]", Path], number: int, code: int
) -> None:
    process, there = on_a_device
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, list(there.iterdir())) == (code, []), said
    # A guard on the device looks every few seconds whether it is still needed.
    wait_until(lambda: not find_processes(there), "the end of the runner and its guards")


def _is_hanging(folder: Path) -> bool:
    return any("hang" in log.read_text() for log in folder.glob("*/out/log"))


def _children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
