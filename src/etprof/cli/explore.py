"""`etprof explore`: exports a model in several precisions, races the builds, and says which to ship."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.options import (
    DeviceFolderOption,
    DeviceOption,
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


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model; `etprof models list` lists them.")],
    dtypes: Annotated[str, typer.Option(help="Separated by commas; none for quantised builds only.")] = "fp32,fp16",
    schemes: Annotated[
        str, typer.Option(help="Quantisation schemes as `etprof export --schemes` names them; none for no such build.")
    ] = "static_per_channel,dynamic_per_channel,linear_dynamic_4bit_g32",
    threads: Annotated[
        str, typer.Option(metavar="COUNTS", help="A number, several such as 1,2,4, or auto: those that fit the CPU.")
    ] = "auto",
    runtimes: Annotated[str, typer.Option(help="executorch, onnxruntime or both, with a comma.")] = "executorch",
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Time of everything, exports and report included: 90s, 10m or 1h.")
    ] = "10m",
    min_snr: Annotated[
        float | None, typer.Option(metavar="DB", help="Recommend no build with a lower SNR against eager fp32.")
    ] = None,
    min_metric: Annotated[
        float | None, typer.Option(metavar="X", help="Recommend no build of which the model's evaluate() says less.")
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Quantise each layer alone too, and rank layers by what that costs.")
    ] = False,
    models_dir: Annotated[Path | None, typer.Option(help="Your models; default: ./model_profiling/models.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A local .pt or .safetensors file with weights.")] = None,
    output_root: Annotated[
        Path | None,
        typer.Option("--out", "--output-root", help="Folder for the run; default: runs/PLATFORM_explore."),
    ] = None,
    device: DeviceOption = "local",
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    keep_on_device: KeepOption = False,
    runner: Annotated[str, typer.Option(help="auto, native or python.")] = "auto",
    force: ForceOption = False,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
    history: HistoryOption = None,
) -> None:
    from etprof.app.exploring import build_explore_request, explore
    from etprof.app.profiling import RunOptions
    from etprof.cli.console import command_line
    from etprof.cli.progress import RunProgress
    from etprof.cli.run import finish, show_run

    refuse_force_and_resume(force, resume)
    asked = build_explore_request(
        model, dtypes=dtypes, schemes=schemes, threads=threads, runtimes=runtimes, budget=budget, min_snr=min_snr,
        min_metric=min_metric, sensitivity=sensitivity, models_dir=models_dir, checkpoint=checkpoint,
        output_root=output_root,
    )  # fmt: skip
    request = build_request(
        device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle, prepare=prepare,
        keep=keep_on_device, wait=not no_wait,
    )  # fmt: skip
    measured = explore(asked, request, RunProgress(), RunOptions(command_line(), force=force, resume=resume))
    finish(measured, partial(show_run, history=history))
