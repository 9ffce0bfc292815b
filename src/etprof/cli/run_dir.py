"""How a command takes a run's folder: as its argument, or as the option the users' documents show."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.core.errors import UsageError

RunDirArgument = Annotated[
    Path | None, typer.Argument(metavar="RUN_DIR", help="Folder with manifest.json, such as out_toy_cnn/runs/linux.")
]
RunDirOption = Annotated[Path | None, typer.Option("--run-dir", "--results", help="The same, as an option.")]


def one_run_dir(argument: Path | None, option: Path | None) -> Path:
    if (argument is None) == (option is None):
        raise UsageError("Give the folder of one run.", hint="For example: out_toy_cnn/runs/linux")
    folder = argument or option or Path()
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", hint="A run's folder is the output_root of its plan.")
    return folder
