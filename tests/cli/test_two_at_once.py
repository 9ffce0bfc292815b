"""Two commands at once: one run folder has one writer, one machine one measurement, and each says so in a sentence."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

import etprof
from etprof.app.pace import SYSTEM_CLOCK
from etprof.app.profiling import RunOptions, run_opened
from etprof.cli.main import main
from etprof.core.errors import DeviceError
from etprof.devices.kind import OpenDevice
from etprof.devices.turns import host_turn
from etprof.store.session_file import load_session
from lock_holder import held_by_another
from program_builder import build_program
from scripted_device import Witness, a_runnable_plan, a_steady_run, scripted_device
from stock_runner import make_stock_runner


def a_plan_file(folder: Path, launcher: list[str] | None = None) -> Path:
    """A plan of one short block with a stock runner; the results go to `run` beside it."""
    (folder / "model.pte").write_bytes(build_program())
    experiment = {"name": "on", "runner_path": str(make_stock_runner(folder / "executor_runner")), "runs": 1}
    plan = {
        "model": str(folder / "model.pte"),
        "output_root": str(folder / "run"),
        "experiments": [{**experiment, "warmup": {"min": 0, "max": 0}, "launcher": launcher or []}],
        "schedule": {"blocks": 1, "max_blocks": 1, "retries": 0},
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run, beside a plan that leads there."""
    folder = tmp_path_factory.mktemp("two") / "at_once"
    run = a_steady_run(folder, blocks=2)
    run.rename(folder / "run")
    a_plan_file(folder)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ("run", "plan.json", "--runner", "python"),
        ("run", "plan.json", "--runner", "python", "--resume"),
        ("run", "plan.json", "--runner", "python", "--force"),
        ("run", "plan.json", "--analysis-only"),
        ("run", "--device", "recorded:run", "--output-root", "run", "--force"),
        ("report", "run"),
        ("report", "run", "--out", "run/other.md"),
        ("report", "run", "--format", "statistics", "--out", "elsewhere"),
    ],
    ids=" ".join,
)
def test_who_would_write_to_a_folder_that_is_written_to_learns_by_whom(
    finished: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(finished)
    with held_by_another(finished / "run") as holder:
        before = contents(finished)
        assert main(list(command)) == 1
        assert contents(finished) == before
    said = capsys.readouterr().err
    (sentence,) = [line for line in said.splitlines() if line.startswith("error: ")]
    assert f" is being written by process {holder.pid} on " in sentence
    assert "which started at 20" in sentence


def test_who_only_reads_does_not_wait(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(finished)
    with held_by_another(finished / "run"):
        assert main(["validate", "run"]) in (0, 1)
        assert main(["report", "run", "--format", "console,latency"]) == 0
        assert main(["report", "run", "--out", str(tmp_path / "page.md")]) == 0


def test_a_lock_that_a_killed_process_left_is_no_obstacle(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(finished)
    with held_by_another(finished / "run"):
        pass
    assert (finished / "run" / ".lock").exists()
    assert main(["report", "run", "--format", "md"]) == 0
    assert not (finished / "run" / ".lock").exists()


@contextmanager
def a_run_in_its_block(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A command that measures until it is ended."""
    folder.mkdir()
    mark = folder / "mark"
    plan = a_plan_file(folder, ["sh", "-c", f"touch {mark}; sleep 60"])
    command = [sys.executable, "-m", "etprof", "run", str(plan), "--runner", "python"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as run:
        try:
            assert comes_true(lambda: mark.exists() or run.poll() is not None)
            assert run.poll() is None, run.communicate()[1]
            yield run
        finally:
            run.kill()


def comes_true(condition: Callable[[], bool], within_s: float = 30.0) -> bool:
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.alone
def test_a_second_run_waits_for_the_first_or_fails_as_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = a_plan_file(tmp_path)
    with a_run_in_its_block(tmp_path / "first") as first:
        for options in ("--force", "--resume"):
            assert main(["run", str(tmp_path / "first" / "plan.json"), "--runner", "python", options, "--no-wait"]) == 1
            assert f"is being written by process {first.pid} on" in capsys.readouterr().err
        assert main(["run", str(other), "--runner", "python", "--no-wait"]) == 1
        assert "error: Another run is measuring on this machine." in capsys.readouterr().err
        assert not (tmp_path / "run").exists()

        waiting = subprocess.Popen(
            [sys.executable, "-m", "etprof", "run", str(other), "--runner", "python"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with waiting:
            assert waiting.stderr is not None  # a pipe, as asked for
            sentence = "Another run is measuring on this machine: waiting until it has ended (--no-wait fails instead)."
            assert sentence in iter(waiting.stderr.readline, "").__next__()
            assert waiting.poll() is None
            os.kill(first.pid, signal.SIGKILL)
            said = "".join(waiting.communicate(timeout=60))
    assert waiting.returncode == 0, said
    assert load_session(tmp_path / "run").stop_reason


def test_a_program_that_does_not_want_to_wait_is_refused_too(tmp_path: Path) -> None:
    with host_turn(False, print), pytest.raises(DeviceError, match="Another run is measuring on this machine"):
        etprof.run_plan(a_plan_file(tmp_path), runner="python", wait=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("waited_s", "rounds"), [(0.0, 3), (1000.0, 5)])
def test_waiting_does_not_count_towards_a_time_budget(tmp_path: Path, waited_s: float, rounds: int) -> None:
    plan = a_runnable_plan(tmp_path, blocks=5, max_blocks=5, time_budget_s=60)
    opened = OpenDevice(scripted_device(), take_turn=lambda: nullcontext(waited_s))
    options = RunOptions("test", began_s=SYSTEM_CLOCK.now() - 1000)
    measured = run_opened(opened, plan, Witness(), options)
    assert len(measured.session.results) == 2 * rounds
