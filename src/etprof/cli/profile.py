"""`etprof profile`: a .pte and nothing else; picks the pair for this machine, runs it and writes the report."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.run import finish, run_locally


def command(
    model: Annotated[Path, typer.Argument(help="The exported model (.pte).")],
    output_root: Annotated[Path | None, typer.Option(help="Folder for the run; default: beside the artifacts.")] = None,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per arm, at least.")] = 6,
    max_blocks: Annotated[int, typer.Option(min=1, help="And at most, while the interval is too wide.")] = 20,
    time_budget: Annotated[float, typer.Option(help="Begin no further round after so many seconds.")] = 120.0,
    force: Annotated[bool, typer.Option("--force", help="Move an older run in that folder aside.")] = False,
) -> None:
    """Profile a model with this CPU's best extension shown and hidden."""
    from etprof.core.plan import Schedule
    from etprof.pipeline import default_plan

    schedule = Schedule(blocks=blocks, max_blocks=max(blocks, max_blocks), time_budget_s=time_budget)
    finish(run_locally(default_plan(model, output_root, schedule), runner, force=force))
