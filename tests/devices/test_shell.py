"""Scripts run to their end: exit codes, output, standard input, time limits and lost connections."""

import os
import time
from pathlib import Path

import pytest

from etprof.devices.shell import ConnectionLostError, ScriptTimeoutError, run_script
from local_shell import LocalShell


def test_exit_code_output_and_errors_come_back() -> None:
    done = run_script(LocalShell(), "echo out; echo err >&2; exit 7")
    assert (done.exit_code, done.text, done.errors) == (7, "out\n", "err\n")


def test_output_may_be_any_bytes() -> None:
    done = run_script(LocalShell(), r"printf '\000\377\n\netprof-end 3\nmore'")
    assert (done.exit_code, done.output) == (0, b"\0\xff\n\netprof-end 3\nmore")


def test_a_script_that_ends_in_an_error_of_the_shell_has_its_exit_code() -> None:
    assert run_script(LocalShell(), "nonsense-command").exit_code == 127


def test_a_file_becomes_the_standard_input_and_its_progress_is_counted(tmp_path: Path) -> None:
    source, counts = tmp_path / "big.bin", list[int]()
    source.write_bytes(os.urandom(300_000))
    done = run_script(LocalShell(), "cat", source=source, sent=counts.append)
    assert done.output == source.read_bytes()
    assert sum(counts) == 300_000
    assert len(counts) == 5


def test_a_script_that_does_not_read_its_input_still_tells_how_it_ended(tmp_path: Path) -> None:
    source = tmp_path / "big.bin"
    source.write_bytes(bytes(1 << 20))
    done = run_script(LocalShell(), "echo 'disk full' >&2; exit 5", source=source)
    assert (done.exit_code, done.errors) == (5, "disk full\n")


def test_a_script_that_takes_too_long_is_stopped() -> None:
    start = time.monotonic()
    with pytest.raises(ScriptTimeoutError, match=r"local:shell timed out after 0\.5 s"):
        run_script(LocalShell(), "sleep 5", timeout_s=0.5)
    assert time.monotonic() - start < 4


def test_a_slow_transfer_that_goes_on_is_not_stopped(tmp_path: Path) -> None:
    source = tmp_path / "big.bin"
    source.write_bytes(bytes(512 << 10))
    # Each piece is taken within the limit, all of them together are not.
    script = (
        "for i in 1 2 3 4 5 6 7 8; do dd bs=65536 count=1 iflag=fullblock of=/dev/null 2>/dev/null; sleep 0.3; done"
    )
    assert run_script(LocalShell(), script, timeout_s=1.5, source=source).exit_code == 0


def test_a_connection_that_was_lost_is_noticed() -> None:
    with pytest.raises(ConnectionLostError, match=r"local:shell is gone \(cable pulled\)"):
        run_script(LocalShell(is_cut=True), "true")
