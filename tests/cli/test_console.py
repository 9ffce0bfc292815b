"""What the program prints, where, and how wide."""

import os
import pty
import subprocess
import sys

import pytest

from etprof.cli import console
from etprof.core.errors import UsageError
from etprof.reports.text_table import Column, TextTable

Capture = pytest.CaptureFixture[str]

REFUSED = [sys.executable, "-m", "etprof", "validate"]


def read_from_a_terminal(**environment: str) -> str:
    """What a command that fails writes to standard error when that is a terminal."""
    reading, writing = pty.openpty()
    try:
        subprocess.run(REFUSED, stdout=subprocess.DEVNULL, stderr=writing, env=os.environ | environment, timeout=60)
        return os.read(reading, 10_000).decode()
    finally:
        os.close(reading)
        os.close(writing)


def test_results_go_to_standard_output_and_the_rest_to_standard_error(capsys: Capture) -> None:
    console.show("result [bold]")
    console.say("note [bold]")
    console.print_error(UsageError("It is wrong.", hint="Make it right."))
    said = capsys.readouterr()
    assert said.out == "result [bold]\n"
    assert said.err == "note [bold]\nerror: It is wrong.\nhint: Make it right.\n"


def test_an_error_is_coloured_on_a_terminal_unless_that_is_not_wanted() -> None:
    assert read_from_a_terminal(NO_COLOR="").startswith("\x1b[31m\x1b[1merror:\x1b[0m ")
    assert read_from_a_terminal(NO_COLOR="1").startswith("error: ")


def test_tables_and_sentences_have_the_width_of_the_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    table = TextTable("", [Column("name", ["a" * 15]), Column("kind", ["bcd"], 1)])
    console.show_table(table)
    assert "bcd" not in capsys.readouterr().out
    console.show_table(table, wide=True)
    assert f"{'a' * 15}  bcd\n\n" in capsys.readouterr().out
    console.show_sentence("A sentence of some length.", indent="  ")
    assert capsys.readouterr().out == "A sentence of some\n  length.\n"


def test_a_pipe_is_eighty_columns_wide() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    code = "from etprof.cli.console import terminal_width; print(terminal_width())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "80\n"


def test_facts_are_aligned_and_never_cut(capsys: Capture) -> None:
    console.show_facts({"file": "x" * 200, "partitions": "2"})
    assert capsys.readouterr().out == f"file        {'x' * 200}\npartitions  2\n"


def test_json_keeps_its_letters(capsys: Capture) -> None:
    console.show_json({"name": "größer"})
    assert capsys.readouterr().out == '{\n  "name": "größer"\n}\n'
