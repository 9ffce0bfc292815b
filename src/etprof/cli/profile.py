"""`etprof profile`: a .pte and nothing else; picks the pair for this machine, runs it and writes the report."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.run import finish, run_locally


def command(
    model: Annotated[Path, typer.Argument(help="The exported model (.pte).")],
    output_root: Annotated[Path | None, typer.Option(help="Folder for the run; default: beside the artifacts.")] = None,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    runs: Annotated[int, typer.Option(min=1, help="Timed iterations in each process; half as many are traced.")] = 20,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the runtime.")] = 1,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per arm, at least.")] = 6,
    max_blocks: Annotated[int, typer.Option(min=1, help="And at most, while the interval is too wide.")] = 24,
    time_budget: Annotated[float, typer.Option(help="Begin no further round after so many seconds.")] = 120.0,
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Sample which kernels execute too, in blocks of their own.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Move an older run in that folder aside.")] = False,
) -> None:
    """Profile a model with this CPU's best extension shown and hidden."""
    from dataclasses import replace

    from etprof.core.plan import Schedule
    from etprof.pipeline import default_plan
    from etprof.sampled_plan import add_sampled_arms

    schedule = Schedule(blocks=blocks, max_blocks=max(blocks, max_blocks), time_budget_s=time_budget)
    plan = default_plan(model, output_root, schedule)
    arms = tuple(replace(e, runs=runs, traced_runs=max(runs // 2, 1), threads=(threads,)) for e in plan.experiments)
    plan = replace(plan, experiments=arms)
    finish(run_locally(add_sampled_arms(plan) if kernels else plan, runner, force=force))
