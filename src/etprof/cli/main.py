"""The `etprof` command: finds the subcommand, and turns every error into one message and an exit code."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

import etprof
from etprof.cli.console import out, print_error
from etprof.core.errors import EtprofError

# In the order a user meets them. Each module of this folder has `command`, a function, or `app`, a group of them.
# These modules are all imported for `--help`: they import the rooms inside their functions.
COMMANDS = {
    "quickstart": "quickstart",
    "doctor": "doctor",
    "devices": "devices",
    "runner": "runner",
    "models": "models",
    "export": "export",
    "profile": "profile",
    "run": "run",
    "analyze": "analyze",
    "operators": "operators",
    "categories": "categories",
    "transposes": "transposes",
    "kernels": "kernels",
    "kernel-view": "kernel_view",
    "xnn-log": "xnn_log",
    "timeline": "timeline",
    "ops-json": "ops_json",
    "report": "report",
    "combine": "combine",
    "latency": "latency",
    "validate": "validate",
    "compare": "compare",
    "skills": "skills",
    "check": "check",
    "mcp": "mcp",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    0 done, 1 could not or "no", 2 wrong usage, 3 undecided, 130 interrupted.
    """
    args = list(argv) if argv is not None else sys.argv[1:]
    try:
        build_app()(args=args, prog_name="etprof")
    except EtprofError as error:
        print_error(error)
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def build_app() -> typer.Typer:
    app = typer.Typer(
        help="Where an ExecuTorch model spends its time, what SME2 changes, and what to optimise next.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_global_options)
    for name, module_name in COMMANDS.items():
        module = import_module(f"etprof.cli.{module_name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(module.command)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"etprof {etprof.__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass
