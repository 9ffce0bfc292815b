"""`etprof profile`: a .pte or a model's name and nothing else; picks the pair for the device, runs and reports it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etprof.cli.console import show
from etprof.cli.options import (
    BudgetOption,
    DeviceFolderOption,
    DeviceOption,
    DryRunOption,
    EmulatorOption,
    ForceOption,
    HistoryOption,
    KeepOption,
    NoWaitOption,
    PrepareOption,
    ResumeOption,
    RunnerBundleOption,
    build_request,
    refuse_force_and_resume,
)

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest
    from etprof.export.request import ExportRequest


def command(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="The exported model (.pte), or a model's name: it is exported first.")
    ],
    dtype: Annotated[str, typer.Option(help="With a name: fp32, the default, or fp16.", show_default=False)] = "",
    quantize: Annotated[bool, typer.Option("--quantize", help="With a name: INT8, static and per channel.")] = False,
    models_dir: Annotated[
        Path | None, typer.Option(help="With a name: your models; default: ./model_profiling/models.")
    ] = None,
    output_root: Annotated[
        Path | None, typer.Option(help="Folder for the run; default: runs/PLATFORM_PRECISION beside the artifacts.")
    ] = None,
    device: DeviceOption = "local",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    keep_on_device: KeepOption = False,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    runs: Annotated[int, typer.Option(min=1, help="Timed iterations in each process; half as many are traced.")] = 20,
    threads: Annotated[
        str, typer.Option(metavar="COUNTS", help="Threads XNNPACK may use: a number, several such as 1,2,4, or auto.")
    ] = "1",
    method: Annotated[
        str, typer.Option(metavar="NAME", help="Method to run; default: forward, or the only one.", show_default=False)
    ] = "",
    workload: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Run the phases of this file; an iteration is all of them once.")
    ] = None,
    blocks: Annotated[int, typer.Option(min=1, help="Fresh processes per variant.")] = 6,
    max_blocks: Annotated[int, typer.Option(min=1, help="At most, if more are needed for a narrow interval.")] = 24,
    budget: BudgetOption = "2m",
    kernels: Annotated[
        bool, typer.Option("--kernels", help="Sample which kernels execute too, in blocks of their own.")
    ] = False,
    force: ForceOption = False,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
    history: HistoryOption = None,
    dry_run: DryRunOption = False,
    write_plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the plan there to edit it, and run nothing.")
    ] = None,
) -> None:
    from etprof.app.named_model import find_export
    from etprof.app.plans import build_profile_schedule
    from etprof.app.profiling import RunOptions, profile
    from etprof.app.thread_counts import parse_threads
    from etprof.cli.console import command_line
    from etprof.cli.progress import RunProgress
    from etprof.cli.run import finish, show_run
    from etprof.store.workload_file import load_workload

    refuse_force_and_resume(force, resume)
    schedule = build_profile_schedule(blocks, max_blocks, budget)
    request = build_request(
        device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle, prepare=prepare,
        keep=keep_on_device, wait=not no_wait,
    )  # fmt: skip
    wanted = find_export(model, dtype=dtype, quantize=quantize, models_dir=models_dir)
    options: dict[str, Any] = {
        "output_root": output_root, "schedule": schedule, "runs": runs, "threads": parse_threads(threads),
        "kernels": kernels, "method": method, "workload": load_workload(workload) if workload else None,
    }  # fmt: skip
    if dry_run or write_plan:
        _show_plan(wanted, Path(model), request, options, write_plan)
        return
    pte = _export(wanted, request) if wanted else Path(model)
    with RunProgress() as progress:
        measured = profile(pte, request, progress, RunOptions(command_line(), force=force, resume=resume), **options)
    finish(measured, partial(show_run, history=history))


def _export(wanted: "ExportRequest", request: "DeviceRequest") -> Path:
    from etprof.app.named_model import export_named
    from etprof.cli.progress import export_stages

    with export_stages(wanted.stem) as stages:
        return export_named(wanted, request, stages)


def _show_plan(
    wanted: "ExportRequest | None", path: Path, request: "DeviceRequest", options: dict[str, Any], file: Path | None
) -> None:
    from functools import partial

    from etprof.app.named_model import require_model, require_name
    from etprof.app.plans import build_profile_plan
    from etprof.app.profiling import plan_for
    from etprof.cli.run import show_schedule
    from etprof.store.plan_file import save_plan

    if wanted:
        require_name(wanted)
        show(f"{wanted.model} would be exported to {wanted.pte}, unless that file is there and nothing has changed")
    else:
        require_model(path)
    label = wanted.label if wanted else ""
    plan = plan_for(request, partial(build_profile_plan, wanted.pte if wanted else path, label=label, **options))
    if file is None:
        show_schedule(plan)
        return
    save_plan(file, plan)
    show(f"{file} is written; run it with: etprof run {file}")
