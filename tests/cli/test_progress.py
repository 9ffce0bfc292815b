"""What a run and an export say of themselves while they go on."""

import os
import pty
import re
import subprocess
import sys
import time

import pytest
from rich.progress import BarColumn

from builders import a_plan, a_result
from conftest import ROOT
from etprof.app.pace import TimeLeft
from etprof.cli.progress import RunProgress, share_of_block, timed_step
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
            progress.block_ended(a_result("off", index, 4.0), TimeLeft(3.0, 63.0))
            progress.block_ended(a_result("on", index, 2.0), TimeLeft(0.0, 60.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "block 1 of 2: off_t1, median 4.00 ms; about 3.0 s left, at most 1 min 3 s"
    assert lines[1] == "block 2 of 2: on_t1, median 2.00 ms; at most 1 min 0 s left"
    assert lines[2].startswith(
        "block 3 of 4: off_t1, median 4.00 ms; a round was added: an interval is still too wide; about 3.0 s left"
    )
    assert lines[3].startswith("block 4 of 4:")


@pytest.mark.parametrize(("left", "words"), [(TimeLeft(90.0, 90.0), "; about 1 min 30 s left"), (TimeLeft(0, 0), "")])
def test_a_run_that_adds_no_rounds_says_one_time(left: TimeLeft, words: str, capsys: Capture) -> None:
    with RunProgress() as progress:
        start(progress, blocks=2)
        progress.block_ended(a_result("off", 0, 4.0), left)
    assert capsys.readouterr().err == f"block 1 of 4: off_t1, median 4.00 ms{words}\n"


def test_blocks_of_a_variant_that_is_left_out_are_not_counted(capsys: Capture) -> None:
    with RunProgress() as progress:
        start(progress, blocks=3)
        progress.block_ended(a_result("on", 0, 2.0))
        progress.variant_left_out("off is not run again", 2)
        for index in range(1, 5):
            progress.block_ended(a_result("on", index, 2.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("block 1 of 6:")
    assert lines[1] == "off is not run again"
    assert lines[2].startswith("block 2 of 4:")
    assert lines[-1].startswith("block 5 of 5:")
    assert lines[-1].endswith("a round was added: an interval is still too wide")


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


def test_a_block_is_never_done_before_it_ends() -> None:
    assert [share_of_block(elapsed_s, 10.0) for elapsed_s in (0.0, 5.0, 20.0)] == [0.0, 0.5, 0.95]
    first = [share_of_block(elapsed_s, None) for elapsed_s in (0.0, 10.0, 100.0, 1e6)]
    assert first == sorted(first)
    assert first[0] == 0.0
    assert first[-1] < 1.0
    assert share_of_block(1.0, 0.0) == 0.0


def test_the_bar_moves_within_a_block() -> None:
    progress = RunProgress()
    start(progress, blocks=2)
    (bar,) = [column for column in progress._bar.columns if isinstance(column, BarColumn)]
    (task,) = progress._bar.tasks
    assert bar.render(task).completed == 0
    progress.block_started(Block(a_plan().experiment("off"), 1, 0))
    time.sleep(0.01)
    within = bar.render(task).completed
    assert 0 < within < 1
    progress.block_ended(a_result("off"))
    assert bar.render(task).completed == 1


def test_failures_and_retries_are_told_with_their_reason(capsys: Capture) -> None:
    block = Block(a_plan().experiment("on"), 1, 0)
    with RunProgress() as progress:
        start(progress)
        progress.block_started(block)
        progress.block_retried(block, "the runner crashed [signal 11]")
        progress.block_ended(a_result("on", error="exit code 3"))
        progress.told("on is not run again")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        f"{block.name}: the runner crashed [signal 11]; trying again",
        "block 1 of on_t1 failed: exit code 3",
        "on is not run again",
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


def test_a_step_is_named_as_it_begins_and_timed_when_it_succeeded(capsys: Capture) -> None:
    with timed_step("step 1 of 2: waiting"):
        assert capsys.readouterr().err == "step 1 of 2: waiting\n"
    assert re.fullmatch(r"  took \d+\.\d s\n", capsys.readouterr().err)
    with pytest.raises(ValueError, match="broken"), timed_step("step 2 of 2: failing"):
        raise ValueError("broken")
    assert "took" not in capsys.readouterr().err
