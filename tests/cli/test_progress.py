"""What a run says of itself where there is no terminal."""

import pytest

from builders import a_result
from etprof.cli.progress import RunProgress


def test_rounds_that_are_added_say_why(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as progress:
        progress.run_started(rounds=1, arms=2, done=0)
        for index in range(2):
            progress.block_ended(a_result("off", index, 4.0))
            progress.block_ended(a_result("on", index, 2.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("block 1 of 2: off_t1, median 4.00 ms; about")
    assert lines[1] == "block 2 of 2: on_t1, median 2.00 ms"
    assert lines[2] == "block 3 of 4: off_t1, median 4.00 ms; a round was added: an interval is still too wide"
    assert lines[3].startswith("block 4 of 4:")


def test_a_resumed_run_counts_on(capsys: pytest.CaptureFixture[str]) -> None:
    with RunProgress() as progress:
        progress.run_started(rounds=2, arms=2, done=2)
        progress.block_ended(a_result("off", 1, 4.0))
    assert capsys.readouterr().err.startswith("block 3 of 4:")
