"""The two consoles of the program: results go to standard output, everything else to standard error."""

import shlex
import sys

from rich.console import Console

from etprof.core.errors import EtprofError

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_error(error: EtprofError) -> None:
    err.print("[bold red]error:[/] ", end="")
    err.print(error.message, markup=False)
    if error.hint:
        err.print("[bold cyan]hint:[/] ", end="")
        err.print(error.hint, markup=False)


def command_line() -> str:
    """What the user typed, for the record."""
    return shlex.join(["etprof", *sys.argv[1:]])
