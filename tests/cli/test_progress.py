"""What a run and an export say of themselves while they go on."""

import os
import pty
import subprocess
import sys

import pytest

from builders import a_plan, a_result
from conftest import ROOT
from etprof.cli.progress import RunProgress
from etprof.core.plan import Block
from etprof.core.units import NO_TIMES

Capture = pytest.CaptureFixture[str]

A_RUN = """
from builders import a_plan, a_result
from etprof.cli.console import say
from etprof.cli.progress import RunProgress

with RunProgress() as progress:
    progress.run_started(a_plan(blocks=1), 0, times_are_real=True)
    say("a note meanwhile")
    progress.block_ended(a_result("off"))
    progress.block_ended(a_result("on"))
"""
AN_EXPORT = """
import os, time
from etprof.cli.progress import export_stages

with export_stages("toy_cnn [fp32]") as stage:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.write(2, b"noise")
    stage("lowering")
    time.sleep(0.3)
"""


def start(progress: RunProgress, blocks: int = 1, done: int = 0, *, times_are_real: bool = True) -> None:
    progress.run_started(a_plan(blocks=blocks), done, times_are_real=times_are_real)


def test_rounds_that_are_added_say_why(capsys: Capture) -> None:
    with RunProgress() as progress:
        start(progress)
        for index in range(2):
            progress.block_ended(a_result("off", index, 4.0))
            progress.block_ended(a_result("on", index, 2.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("block 1 of 2: off_t1, median 4.00 ms; about")
    assert lines[1] == "block 2 of 2: on_t1, median 2.00 ms"
    assert lines[2] == "block 3 of 4: off_t1, median 4.00 ms; a round was added: an interval is still too wide"
    assert lines[3].startswith("block 4 of 4:")


def test_a_resumed_run_counts_on(capsys: Capture) -> None:
    with RunProgress() as progress:
        start(progress, blocks=2, done=2)
        progress.block_ended(a_result("off", 1, 4.0))
    assert capsys.readouterr().err.startswith("block 3 of 4:")


def test_times_of_an_emulated_device_are_not_shown(capsys: Capture) -> None:
    with RunProgress() as progress:
        start(progress, times_are_real=False)
        progress.block_ended(a_result("off", 0, 4.0))
    said = capsys.readouterr().err
    assert NO_TIMES in said
    assert "4.00 ms" not in said


def test_failures_and_retries_are_told_with_their_reason(capsys: Capture) -> None:
    block = Block(a_plan().experiment("on"), 1, 0)
    with RunProgress() as progress:
        start(progress)
        progress.block_started(block)
        progress.block_retried(block, "the runner crashed [signal 11]")
        progress.block_ended(a_result("on", error="exit code 3"))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"{block.name}: the runner crashed [signal 11]; trying again",
        "block 1 of on_t1 failed: exit code 3",
    ]


def test_an_interruption_says_that_nothing_is_lost(capsys: Capture) -> None:
    with pytest.raises(KeyboardInterrupt), RunProgress():
        raise KeyboardInterrupt
    assert "every finished block is kept; --resume continues the run" in capsys.readouterr().err


def read_from_a_terminal(code: str) -> str:
    """What the code writes to standard error when that is a terminal."""
    reading, writing = pty.openpty()
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "TERM": "xterm", "COLUMNS": "100"}
    try:
        subprocess.run([sys.executable, "-c", code], stderr=writing, env=environment, timeout=60, check=True)
        return os.read(reading, 100_000).decode()
    finally:
        os.close(writing)
        os.close(reading)


def test_a_terminal_has_a_bar_and_notes_above_it() -> None:
    shown = read_from_a_terminal(A_RUN)
    assert "a note meanwhile" in shown
    assert "2/2" in shown
    assert "block 1 of 2" not in shown, "a line for each block is for logs"


def test_stages_of_an_export_are_seen_while_standard_error_is_taken_over() -> None:
    shown = read_from_a_terminal(AN_EXPORT)
    assert "toy_cnn [fp32]: lowering" in shown
    assert "noise" not in shown
