"""`etprof analyze`: where the time of a finished run went, from its traces."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.report import write_report
from etprof.cli.run_dir import RunDirArgument, RunDirOption, one_run_dir


def command(
    run_dir: RunDirArgument = None,
    run_dir_option: RunDirOption = None,
    model: Annotated[
        Path | None, typer.Option(help="The .pte that was run, to check that it still is the one.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and print no tables.")] = False,
) -> None:
    """Analyse the traces of a run; writes analysis_summary.json, CSV files and statistics."""
    from etprof.pipeline import check_model, write_run_files

    folder = one_run_dir(run_dir, run_dir_option)
    if model is not None:
        check_model(folder, model)
    write_run_files(folder, write_report(folder, formats=("json",), show=not quiet))
