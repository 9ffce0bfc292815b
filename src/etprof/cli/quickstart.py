"""`etprof quickstart`: export, run and report in one go, as the first thing a new user sees and as a smoke test."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.export import print_artifact, stages
from etprof.cli.run import build_request, finish, run_opened
from etprof.core.errors import UsageError


def command(
    model: Annotated[str, typer.Option(help="Which model; `etprof models` lists them.")] = "toy_cnn",
    dtype: Annotated[str, typer.Option(help="fp32 or fp16.")] = "fp32",
    platform: Annotated[
        str, typer.Option(help="mac or linux: this machine, the default; android: what adb reaches; emulated: QEMU.")
    ] = "",
    remote_device: Annotated[str, typer.Option(help="With android: its HOST:PORT, or its serial.")] = "",
    device_folder: Annotated[str, typer.Option(help="With android: folder on the device to work in.")] = "",
    out_dir: Annotated[Path | None, typer.Option("--out", help="Default: model_profiling/out_MODEL.")] = None,
) -> None:
    """Export a model, profile it here, on an Android device or under emulation, and write the report."""
    from etprof.core.plan import Schedule
    from etprof.device_choice import open_device
    from etprof.export.exporter import ExportRequest, export_model
    from etprof.pipeline import default_plan

    request = build_request(_device_of(platform), remote_device, folder=device_folder)
    folder = out_dir or Path("model_profiling") / f"out_{model}"
    wanted = ExportRequest(model=model, dtype=dtype, outdir=folder / "artifacts", save_graph=True)
    schedule = Schedule(max_blocks=12, time_budget_s=30.0, retries=0)
    # The device comes first: that there is none should be known before time is spent on an export.
    with open_device(request) as opened:
        with stages(wanted.stem) as progress:
            artifact = export_model(wanted, progress)
        print_artifact(artifact)
        out.print("export ok")
        # A quick start is repeated on purpose: an older run moves aside without being asked about.
        session = run_opened(opened, default_plan(artifact.pte, None, schedule, opened.device), force=True)
    finish(session)


def _device_of(platform: str) -> str:
    from etprof.devices.local import local_platform

    here = local_platform()
    devices = {"": "local", here: "local", "android": "android", "emulated": "emulated"}
    if platform in devices:
        return devices[platform]
    if platform in ("mac", "linux"):
        hint = f"Leave out --platform, or give {here}, android or emulated."
        raise UsageError(f"This machine is {here}, not {platform}.", hint=hint)
    raise UsageError(f"There is no platform {platform!r}.", hint="Platforms: mac, linux, android, emulated.")
