"""What the program prints: results on standard output, everything else on standard error."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from etprof.core.errors import EtprofError

if TYPE_CHECKING:
    from etprof.reports.text_table import TextTable

# The words behind `etprof` of the command that runs.
_typed: list[str] = []


def say(text: str) -> None:
    """A line of progress or a note, which is not a result."""
    typer.echo(text, err=True)


def show(text: str) -> None:
    """A line of the result."""
    typer.echo(text)


def show_facts(facts: Mapping[str, str]) -> None:
    """A line for each, never cut: file names are there to be copied."""
    width = max(map(len, facts))
    for name, value in facts.items():
        show(f"{name:{width}}  {value}")


def show_json(value: object) -> None:
    import json

    show(json.dumps(value, indent=2, ensure_ascii=False))


def show_sentence(text: str, indent: str = "") -> None:
    """A line of the result that is read rather than copied, in lines of the terminal's width."""
    from etprof.reports.text_table import wrap

    show(wrap(text, terminal_width(), indent))


def show_table(table: "TextTable", *, wide: bool = False) -> None:
    from etprof.reports.text_table import render_table

    show(render_table(table, None if wide else terminal_width()))


def terminal_width() -> int:
    """Of the terminal, or what COLUMNS says; 80 in a pipe."""
    return shutil.get_terminal_size().columns


def print_error(error: EtprofError) -> None:
    _print_marked("error:", "red", error.message)
    if error.hint:
        _print_marked("hint:", "cyan", error.hint)


def _print_marked(mark: str, color: str, text: str) -> None:
    styled = f"{typer.style(mark, fg=color, bold=True)} {text}"
    typer.echo(styled, err=True, color=False if os.environ.get("NO_COLOR") else None)


def remember_command_line(words: Sequence[str]) -> None:
    _typed[:] = words


def command_line() -> str:
    """The command that runs, for the record: whoever types it again does the same, also where a script was typed."""
    return shlex.join(["etprof", *_typed])
