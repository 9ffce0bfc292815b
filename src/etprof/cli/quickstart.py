"""`etprof quickstart`: export, run and report in one go, as the first thing a new user sees and as a smoke test."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import command_line
from etprof.cli.options import ResumeOption, build_request


def command(
    model: Annotated[str, typer.Option(help="Which model; `etprof models list` lists them.")] = "toy_cnn",
    dtype: Annotated[str, typer.Option(help="fp32 or fp16.")] = "fp32",
    platform: Annotated[
        str, typer.Option(help="mac or linux: this machine, the default; android: what adb reaches; emulated: QEMU.")
    ] = "",
    remote_device: Annotated[str, typer.Option(help="With android: its HOST:PORT, or its serial.")] = "",
    device_folder: Annotated[str, typer.Option(help="With android: folder on the device to work in.")] = "",
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of the results; default: model_profiling/out_MODEL in a clone, else out_MODEL."
        ),
    ] = None,
    resume: ResumeOption = False,
) -> None:
    from etprof.app.devices import device_of_platform, open_device
    from etprof.app.plans import QUICK_SCHEDULE, build_profile_plan
    from etprof.app.profiling import RunOptions, run_opened
    from etprof.cli.export import show_artifact
    from etprof.cli.progress import RunProgress, export_stages
    from etprof.cli.run import finish
    from etprof.core.layout import run_folder
    from etprof.export.exporter import ExportRequest, export_model

    request = build_request(device_of_platform(platform), remote_device, folder=device_folder)
    home = Path("model_profiling") if Path("model_profiling").is_dir() else Path()
    folder = out_dir or home / f"out_{model}"
    wanted = ExportRequest(model=model, dtype=dtype, outdir=folder / "artifacts")
    # The device comes first: that there is none should be known before time is spent on an export.
    with open_device(request) as opened:
        with export_stages(wanted.stem) as progress:
            artifact = export_model(wanted, progress)
        show_artifact(artifact)
        place = run_folder(artifact.pte, opened.device.platform)
        plan = build_profile_plan(artifact.pte, opened.device, schedule=QUICK_SCHEDULE, output_root=place)
        # A quick start is repeated on purpose: an older run moves aside without being asked about.
        with RunProgress() as observer:
            options = RunOptions(command_line(), force=not resume, resume=resume)
            measured = run_opened(opened, plan, observer, options)
    finish(measured)
