"""`etprof validate`: whether a run's folder is whole."""

from typing import Annotated

import typer

from etprof.cli.console import show
from etprof.cli.options import RunDirArgument, RunDirOption, one_run_dir


def command(
    run_dir: RunDirArgument = None,
    run_dir_option: RunDirOption = None,
    deep: Annotated[bool, typer.Option("--deep", help="Open every trace too.")] = False,
) -> None:
    from etprof.app.runs import list_runs, validate_run

    folder = one_run_dir(run_dir, run_dir_option)
    problems = validate_run(folder, deep=deep)
    for line in [] if problems else list_runs(folder):
        show(line)
    for problem in problems:
        show(f"problem: {problem}")
    if problems:
        show(f"problems in {folder}: {len(problems)}")
        raise typer.Exit(1)
    show(f"{folder}: every expected file is there and agrees with the manifest")
