"""The `etprof` command: finds the subcommand, and turns every error into one message and an exit code."""

import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import etprof
from etprof.cli.signals import INTERRUPTED, EndingSignals
from etprof.cli.streams import use_lasting_streams
from etprof.core.errors import EtprofError

# In the order a user meets them. A command is a module of this folder of the same name, with `command`, a function, or
# `app`, a group of them. A module is imported when its command is used, so that `--help` takes a moment.
COMMANDS: dict[str, dict[str, str]] = {
    "Start": {
        "quickstart": "Export a model, profile it here, on an Android device or under emulation, and write the report.",
        "doctor": "Check what this machine has for profiling, and what is missing.",
        "devices": "List, describe, calibrate and clean the devices that can be reached.",
    },
    "Build": {
        "models": "List the models that can be exported, show one, or write the scaffold of a new one.",
        "export": "Export a model to a .pte, run it, and compare it with eager PyTorch.",
        "runner": "Build the program that executes a .pte, or show what is built.",
    },
    "Measure": {
        "profile": "Profile a model with the CPU's best extension shown and hidden.",
        "run": "Run a plan: interleaved blocks, analysis, report.",
        "explore": "Say which build of a model to ship: precisions, threads and runtimes in one interleaved run.",
        "llm": "Measure a language model: prompts and generated tokens a second, extension shown and hidden.",
    },
    "Understand": {
        "report": "Write the report of one run, or put several runs on one page.",
        "explain": "Explain which kernels the layers of a .pte or a run take, why not better ones, and what to do.",
        "kernels": "Prove which kernels executed, by samples of the program counter.",
        "trace": "Look into single ETDump traces: operators, categories, transposes, timelines.",
        "forecast": "Forecast a run on a CPU that you do not have, from the profile of that CPU.",
    },
    "Keep": {
        "compare": "Compare two finished runs: same statistics, and a warning for everything that differs.",
        "check": "Check a run, or a model, against a known-good one: exit code 0 pass, 1 fail, 3 inconclusive.",
        "validate": "Check that every file of a run is there, parses, and is what was measured.",
        "history": "Keep many runs in one file: query them, and see when something became slower.",
        "fleet": "Measure on many devices at once: offer them, list them, run plans on them, gather the runs.",
    },
    "Integrate": {
        "skills": "List, show, verify and install the skills for coding assistants.",
        "mcp": "Serve assistants over the Model Context Protocol (standard input and output).",
    },
}
_SUMMARIES = {name: summary for commands in COMMANDS.values() for name, summary in commands.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code.

    0 done, 1 could not or "no", 2 wrong usage, 3 undecided, 129, 130 or 143 interrupted.
    """
    with EndingSignals() as signals:
        return signals.exit_code(_run(list(argv) if argv is not None else sys.argv[1:]))


def _run(args: list[str]) -> int:
    from etprof.cli.console import remember_command_line

    use_lasting_streams()
    remember_command_line(args)
    try:
        _require_current_folder()
        build_app()(args=args, prog_name="etprof")
    except EtprofError as error:
        from etprof.cli.console import print_error

        print_error(error)
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _require_current_folder() -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise EtprofError("The current folder does not exist any more.", hint="Change to another: cd") from error


class _Group(TyperGroup):
    """Commands with their whole summaries, which the usual list cuts short."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join((each.help or "").split())) for name, each in self.commands.items()])


class _Root(TyperGroup):
    """Commands by group, each imported when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_SUMMARIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _SUMMARIES:
            return None
        if self.commands.get(cmd_name) is None:
            self.commands[cmd_name] = _load_command(cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, _SUMMARIES))
        for group, commands in COMMANDS.items():
            with formatter.section(group):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in commands.items()])


def _load_command(name: str) -> Any:
    module = import_module(f"etprof.cli.{name}")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    if hasattr(module, "app"):
        for each in module.app.registered_commands:
            # A process may load a command more than once.
            each.callback = _checking_paths(getattr(each.callback, "__wrapped__", each.callback))
        app.add_typer(module.app, name=name, help=_SUMMARIES[name], cls=_Group)
    else:
        app.command(name, help=_SUMMARIES[name])(_checking_paths(module.command))
    # Typer takes an app of one command for that command; a second keeps it a group.
    app.command("-", hidden=True)(_nothing)
    group: Any = get_command(app)
    return group.commands[name]


def _checking_paths(run: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which refuses a path that no file or folder can have before it does anything else."""

    @wraps(run)
    def check_and_run(**values: Any) -> Any:
        from etprof.store.paths import check_path

        for value in values.values():
            for path in value if isinstance(value, list) else [value]:
                if isinstance(path, Path):
                    check_path(path)
        return run(**values)

    return check_and_run


def _nothing() -> None:
    pass


def build_app() -> Any:
    app = typer.Typer(
        cls=_Root,
        help="Where an ExecuTorch model spends its time, what SME2 changes, and what to optimise next.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_global_options)
    app.command("-", hidden=True)(_nothing)
    root: Any = get_command(app)
    # Known by name, so that a misspelt one can be answered with the nearest.
    root.commands = dict.fromkeys(_SUMMARIES)
    return root


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"etprof {etprof.__version__}")
        raise typer.Exit


def _global_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass
