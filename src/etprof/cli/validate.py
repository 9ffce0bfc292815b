"""`etprof validate`: whether a run's folder is whole."""

from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.run_dir import RunDirArgument, RunDirOption, one_run_dir


def command(
    run_dir: RunDirArgument = None,
    run_dir_option: RunDirOption = None,
    deep: Annotated[bool, typer.Option("--deep", help="Open every trace too.")] = False,
) -> None:
    """Check that every file of a run is there, parses, and is what was measured."""
    from etprof.pipeline import validate

    folder = one_run_dir(run_dir, run_dir_option)
    problems = validate(folder, deep=deep)
    for problem in problems:
        out.print(f"problem: {problem}", markup=False)
    if problems:
        out.print(f"problems in {folder}: {len(problems)}", markup=False)
        raise typer.Exit(1)
    out.print(f"{folder}: every expected file is there and agrees with the manifest", markup=False)
