"""`etprof fleet`: many devices together, which are offered, listed and sent plans."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etprof.cli.console import command_line, say, show, show_json, show_sentence, show_table
from etprof.cli.options import (
    DeviceFolderOption,
    EmulatorOption,
    HistoryOption,
    JsonOption,
    PrepareOption,
    RunnerBundleOption,
    WideOption,
    build_request,
    refuse_together,
)
from etprof.core.units import format_count
from etprof.devices import list_usages

if TYPE_CHECKING:
    from etprof.app.devices import DeviceRequest
    from etprof.app.fleet.runs import FleetOutcome

app = typer.Typer(no_args_is_help=True)

SchedulerOption = Annotated[
    str, typer.Option(metavar="ADDRESS", help="tcp://HOST:PORT or tls://HOST:PORT; default: that of Dask's settings.")
]
DevicesOption = Annotated[
    list[str] | None, typer.Option("--device", help=f"A device to offer: {list_usages()}; may be given again.")
]
SpoolOption = Annotated[Path | None, typer.Option(help="Folder for files and runs on the way; default: in the cache.")]
RunnerOption = Annotated[str, typer.Option(help="auto, native or python.")]


@app.command("worker")
def worker(
    scheduler: SchedulerOption = "",
    device: DevicesOption = None,
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    runner: RunnerOption = "auto",
    exports: Annotated[
        bool, typer.Option("--exports", help="Export models for others, too; needs torch here.")
    ] = False,
    spool: SpoolOption = None,
) -> None:
    """Offer devices of this machine to a scheduler, until Ctrl-C; each serves one run at a time."""
    from etprof.app.fleet.offering import serve

    requests = _build_requests(
        device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle, prepare=prepare
    )
    serve(scheduler, requests, say, spool, exports=exports)


@app.command("up")
def up(
    scheduler: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; other machines reach it with TLS only.")
    ] = "",
    device: DevicesOption = None,
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    prepare: PrepareOption = False,
    runner: RunnerOption = "auto",
    spool: SpoolOption = None,
) -> None:
    """Start a scheduler, and offer this machine, what is attached to it, devices named and exports, until Ctrl-C."""
    from etprof.app.fleet.offering import serve_all

    requests = _build_requests(
        device, runner=runner, folder=device_folder, emulator=emulator, bundle=runner_bundle, prepare=prepare
    )
    serve_all(scheduler, requests, say, spool)


@app.command("devices")
def devices(
    on: Annotated[str, typer.Option(metavar="LABELS", help="Only those that match, such as 'sme2 and android'.")] = "",
    scheduler: SchedulerOption = "",
    json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """List the devices that workers offer, with the labels to choose them by."""
    from etprof.app.fleet.runs import list_devices
    from etprof.reports.fleet_tables import build_device_table, describe_devices

    found = list_devices(scheduler, on)
    if json:
        show_json(describe_devices(found))
    else:
        show_table(build_device_table(found), wide=wide)
        for each in [] if on else list_devices(scheduler, exports=True):
            show_sentence(f"{each.name} exports models ({each.facts}).")


@app.command("run")
def run(
    plans: Annotated[
        list[Path],
        typer.Argument(
            metavar="PLAN...",
            help="Plans (JSON), or models to profile on each device: a .pte, or a name, which a worker exports.",
        ),
    ],
    on: Annotated[
        str, typer.Option(metavar="LABELS", help="Which devices, such as 'sme2 and not emulated'; default: all.")
    ] = "",
    each: Annotated[bool, typer.Option("--each", help="On each device that matches; the default.")] = False,
    anywhere: Annotated[bool, typer.Option("--any", help="On any one device that matches.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Run each plan so many times.")] = 1,
    dtype: Annotated[str, typer.Option(help="With a name: fp32, the default, or fp16.", show_default=False)] = "",
    quantize: Annotated[bool, typer.Option("--quantize", help="With a name: INT8, static and per channel.")] = False,
    models_dir: Annotated[
        Path | None, typer.Option(help="With a name: your models, which are sent; default: ./model_profiling/models.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where the runs go; default: fleet_TIME.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for devices that are not there, or not any more.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in --out.")] = False,
    history: HistoryOption = None,
    scheduler: SchedulerOption = "",
    wide: WideOption = False,
) -> None:
    """Run plans on the devices of a fleet, and gather runs and one report; exit code 1 when one is missing."""
    from etprof.app.fleet.asked_plans import NamedExports
    from etprof.app.fleet.runs import FleetRequest, default_folder, run_fleet
    from etprof.cli.fleet_progress import FleetProgress
    from etprof.cli.history import ci_commit

    refuse_together("--each is the default.", each=each, any=anywhere)
    request = FleetRequest(
        out or default_folder(), scheduler, on, anywhere, repeat, wait, resume, history, ci_commit(), command_line(),
        NamedExports(dtype, quantize, models_dir),
    )  # fmt: skip
    say(f"results go to {request.out}")
    with FleetProgress(request.out) as progress:
        outcome = run_fleet(plans, request, progress)
    _show(outcome, history, wide=wide)


def _build_requests(names: list[str] | None, **settings: Any) -> "list[DeviceRequest]":
    return [build_request(name, **settings) for name in names or []]


def _show(outcome: "FleetOutcome", history: Path | None, *, wide: bool) -> None:
    from etprof.reports.device_gains import build_gain_table
    from etprof.reports.fleet_tables import build_missing_table

    missing = [result for result in outcome.results if not result.has_arrived]
    failed = sum(result.failed_blocks > 0 for result in outcome.results)
    show(f"{format_count(len(outcome.folders), 'run')} of {len(outcome.results)} arrived")
    if failed:
        show_sentence(f"In {format_count(failed, 'run')} blocks failed; `etprof validate RUN` names them.")
    if missing:
        show_table(build_missing_table(missing), wide=wide)
    if outcome.report and outcome.report.gains:
        for sentence in outcome.report.gain_sentences:
            show_sentence(sentence)
        show_table(build_gain_table(outcome.report.gains), wide=wide)
    if history and outcome.folders:
        show(f"history: {history}")
    if outcome.page:
        show(str(outcome.page))
    if not outcome.is_complete:
        raise typer.Exit(1)
