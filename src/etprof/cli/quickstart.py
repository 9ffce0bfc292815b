"""`etprof quickstart`: export, run and report in one go, as the first thing a new user sees and as a smoke test."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import command_line, show
from etprof.cli.options import NoWaitOption, ResumeOption, RunnerBundleOption, build_request
from etprof.cli.progress import timed_step
from etprof.reports import FORMATS

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest
    from etprof.app.runs import MeasuredRun
    from etprof.core.plan import Plan
    from etprof.devices.base import Device
    from etprof.export.request import ExportRequest

_SAMPLED_S = 2.0


def command(
    model: Annotated[str, typer.Option(help="Which model; `etprof models list` lists them.")] = "toy_cnn",
    dtype: Annotated[str, typer.Option(help="fp32 or fp16.")] = "fp32",
    platform: Annotated[
        str, typer.Option(help="mac or linux: this machine, the default; android: what adb reaches; emulated: QEMU.")
    ] = "",
    remote_device: Annotated[str, typer.Option(help="With android: its HOST:PORT, or its serial.")] = "",
    device_folder: Annotated[str, typer.Option(help="With android: folder on the device to work in.")] = "",
    runner_bundle: RunnerBundleOption = None,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder of the results; default: model_profiling/out_MODEL in a clone, else out_MODEL."
        ),
    ] = None,
    resume: ResumeOption = False,
    no_wait: NoWaitOption = False,
) -> None:
    from etprof.app.devices import device_of_platform
    from etprof.export.request import ExportRequest

    request = build_request(
        device_of_platform(platform), remote_device, folder=device_folder, bundle=runner_bundle, wait=not no_wait
    )
    home = Path("model_profiling") if Path("model_profiling").is_dir() else Path()
    folder = out_dir or home / f"out_{model}"
    wanted = ExportRequest(model=model, dtype=dtype, outdir=folder / "artifacts")
    measured = _measure(request, wanted, resume=resume)
    with timed_step("step 4 of 4: analysing the run and writing the report"):
        _finish(measured)
    report = measured.session.plan.output_root / FORMATS["html"].file
    show(f"Open the report in a browser: {report.resolve().as_uri()}")


def _measure(request: "DeviceRequest", wanted: "ExportRequest", *, resume: bool) -> "MeasuredRun":
    from etprof.app.devices import open_device
    from etprof.app.profiling import RunOptions, run_opened
    from etprof.cli.export import show_artifact
    from etprof.cli.progress import RunProgress, export_stages
    from etprof.export.exporter import export_model

    with ExitStack() as stack:
        # The device comes first: that there is none should be known before time is spent on an export.
        with timed_step("step 1 of 4: preparing the device; the runner is compiled once"):
            opened = stack.enter_context(open_device(request))
        with timed_step(f"step 2 of 4: exporting {wanted.stem}"), export_stages(wanted.stem) as progress:
            artifact = export_model(wanted, progress)
        show_artifact(artifact)
        plan = _plan(artifact.pte, opened.device)
        # A quick start is repeated on purpose: an older run moves aside without being asked about.
        with timed_step(f"step 3 of 4: running {len(plan.experiments)} variants"), RunProgress() as observer:
            options = RunOptions(command_line(), force=not resume, resume=resume, peaks=True)
            return run_opened(opened, plan, observer, options)


def _plan(pte: Path, device: "Device") -> "Plan":
    """Where times mean nothing, what executes is sampled instead."""
    from etprof.app.plans import QUICK_SCHEDULE, build_kernel_plan, build_profile_plan
    from etprof.core.layout import run_folder

    place = run_folder(pte, device.platform)
    if device.describe().times_are_real:
        return build_profile_plan(pte, device, schedule=QUICK_SCHEDULE, output_root=place)
    return build_kernel_plan(pte, device, output_root=place, threads=1, blocks=1, seconds=_SAMPLED_S)


def _finish(measured: "MeasuredRun") -> None:
    from etprof.cli.kernels import show_sampled
    from etprof.cli.run import finish, show_run

    finish(measured, show_run if measured.session.device.times_are_real else show_sampled)
