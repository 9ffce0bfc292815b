"""`etprof devices`: what can be reached from here, and what each of them can do."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import show, show_sentence

if TYPE_CHECKING:
    from etprof.app.devices import Reachable

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


def _show(device: "Reachable") -> None:
    show(device.name)
    for line in [device.trouble] if device.trouble else device.facts:
        show_sentence(f"  {line}", indent="    ")
