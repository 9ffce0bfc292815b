"""`etprof devices`: what can be reached from here, and what each of them can do."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_json, show_sentence, show_table
from etprof.cli.options import DeviceFolderOption, EmulatorOption, JsonOption, RunnerBundleOption, WideOption

if TYPE_CHECKING:
    from etprof.app.devices import Reachable
    from etprof.app.peaks import DevicePeaks

app = typer.Typer(no_args_is_help=True)

DeviceName = Annotated[list[str], typer.Argument(metavar="DEVICE", help="Such as android:SERIAL or ssh:USER@HOST.")]


@app.command("list")
def list_all() -> None:
    """List the devices that can be reached, with their features."""
    from etprof.app.devices import list_devices

    for device in list_devices():
        _show(device)


@app.command("show")
def describe(devices: DeviceName) -> None:
    """Describe devices by name."""
    from etprof.app.devices import list_devices

    found = list_devices(tuple(devices))
    for device in found:
        _show(device)
    if any(device.trouble for device in found):
        raise typer.Exit(1)


@app.command()
def clean(
    devices: DeviceName,
    device_folder: Annotated[str, typer.Option(help="The --device-folder of that run.")] = "",
) -> None:
    """Remove what `etprof run --keep-on-device` left on a device."""
    from etprof.app.devices import clean_device, parse_device

    for name in devices:
        show(clean_device(replace(parse_device(name), folder=device_folder)))


@app.command()
def peaks(
    device: Annotated[
        str, typer.Argument(metavar="DEVICE", help="Such as local, the default, or ssh:USER@HOST.")
    ] = "local",
    again: Annotated[bool, typer.Option("--again", help="Measure again, even if the peaks are known.")] = False,
    device_folder: DeviceFolderOption = "",
    emulator: EmulatorOption = "",
    runner_bundle: RunnerBundleOption = None,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """Show what a CPU can do at most, by instructions and memory; measured once, in at most 10 s."""
    from etprof.app.devices import parse_device
    from etprof.app.peaks import list_peaks

    request = replace(parse_device(device), folder=device_folder, emulator=emulator, bundle=runner_bundle, progress=say)
    found = list_peaks(request, again=again)
    if as_json:
        show_json(_describe_peaks(found))
    else:
        _show_peaks(found, wide=wide)


@app.command()
def calibrate(
    device: Annotated[
        str, typer.Argument(metavar="DEVICE", help="Such as local, the default, or ssh:USER@HOST.")
    ] = "local",
    out: Annotated[Path, typer.Option("--out", help="File for the profile.")] = Path("profile.json"),
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="Time of the runs, such as 90s or 10m; exports come before, once.")
    ] = "4m",
    threads: Annotated[int, typer.Option(min=1, help="Threads XNNPACK may use.")] = 1,
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="FEATURES", help="Measure with these hidden too, such as avx2; may be given again."),
    ] = None,
    precisions: Annotated[str, typer.Option(help="Separated by commas.")] = "fp32,int8,fp16",
    device_folder: DeviceFolderOption = "",
) -> None:
    """Measure how fast a device executes a fixed set of operators, for `etprof forecast`; takes a few minutes."""
    from etprof.app.calibrating import calibrate_to
    from etprof.app.devices import parse_device
    from etprof.core.units import format_count, parse_duration

    profile = calibrate_to(
        out,
        replace(parse_device(device), folder=device_folder, progress=say),
        hide=hide or (),
        threads=threads,
        precisions=precisions,
        budget_s=parse_duration(budget),
    )
    levels = "; ".join(level.name for level in profile.levels)
    say(f"{format_count(len(profile.operators), 'operator')}, levels: {levels}")
    show(str(out))


def _describe_peaks(found: "DevicePeaks") -> dict[str, object]:
    from dataclasses import asdict

    from etprof.store.peaks_file import describe_peaks

    measured = describe_peaks(found.peaks) if found.peaks else {"checked": [asdict(each) for each in found.checked]}
    return {"device": found.device.name, "cpu": found.device.cpu_model, **measured}


def _show_peaks(found: "DevicePeaks", *, wide: bool) -> None:
    from etprof.reports.peaks_tables import build_bandwidth_table, build_check_table, build_throughput_table

    info = found.device
    show_sentence(f"{info.name}: {info.cpu_model} ({info.cpu_count} cores, {info.architecture}), {info.system}")
    if found.peaks is None:
        show_table(build_check_table(found.checked, info.architecture), wide=wide)
        return
    show(f"measured: {found.peaks.measured_at}\n")
    show_table(build_throughput_table(found.peaks), wide=wide)
    show_table(build_bandwidth_table(found.peaks), wide=wide)


def _show(device: "Reachable") -> None:
    show(device.name)
    for line in [device.trouble] if device.trouble else device.facts:
        show_sentence(f"  {line}", indent="    ")
