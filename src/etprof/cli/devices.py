"""`etprof devices`: what can be reached from here, and what each of them can do."""

from dataclasses import replace
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.core.errors import UsageError


def command(
    device: Annotated[
        list[str] | None, typer.Argument(help="Describe this one only, such as ssh:USER@HOST; may be given again.")
    ] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove what `etprof run --keep-on-device` left on it.")
    ] = False,
    device_folder: Annotated[str, typer.Option(help="With --clean: the folder that run was told to work in.")] = "",
) -> None:
    """List the devices that can be reached, with their features."""
    from etprof.device_choice import clean_device, list_devices, parse_device

    if clean:
        if not device:
            raise UsageError("--clean needs the device's name.", hint="etprof devices android:SERIAL --clean")
        for name in device:
            out.print(clean_device(replace(parse_device(name), folder=device_folder)), markup=False)
        return
    failed = False
    for line in list_devices(tuple(device or ())):
        failed |= bool(line.trouble)
        out.print(line.name, markup=False)
        if line.trouble:
            out.print(f"  {line.trouble}", markup=False)
            continue
        for fact in line.facts:
            out.print(f"  {fact}", markup=False)
    if not device:
        out.print(
            "ssh:USER@HOST[:PORT]\n  any Linux that your ssh client reaches; `etprof devices ssh:HOST` describes it"
        )
    elif failed:
        raise typer.Exit(1)
