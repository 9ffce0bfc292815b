"""`etprof profile`: a .pte and nothing else; picks the pair for the device, runs it and writes the report."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.options import (
    BudgetOption,
    DeviceOption,
    ForceOption,
    OutputRootOption,
    ResumeOption,
    build_request,
    refuse_force_and_resume,
)


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The exported model (.pte).")],
    output_root: OutputRootOption = None,
    device: DeviceOption = "local",
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    runs: Annotated[int, typer.Option(min=1, help="Timed iterations in each process; half as many are traced.")] = 20,
    threads: Annotated[int, typer.Option(min=1, help="Threads XNNPACK may use.")] = 1,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per variant.")] = 6,
    max_blocks: Annotated[int, typer.Option(min=1, help="At most, if more are needed for a narrow interval.")] = 24,
    budget: BudgetOption = "2m",
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Sample which kernels execute too, in blocks of their own.")
    ] = False,
    force: ForceOption = False,
    resume: ResumeOption = False,
) -> None:
    from etprof.app.plans import build_profile_schedule
    from etprof.app.profiling import RunOptions, profile
    from etprof.cli.console import command_line
    from etprof.cli.progress import RunProgress
    from etprof.cli.run import finish

    refuse_force_and_resume(force, resume)
    schedule = build_profile_schedule(blocks, max_blocks, budget)
    request = build_request(device, runner=runner)
    with RunProgress() as progress:
        measured = profile(
            model, request, progress, RunOptions(command_line(), force=force, resume=resume),
            output_root=output_root, schedule=schedule, runs=runs, threads=(threads,), kernels=kernels,
        )  # fmt: skip
    finish(measured)
