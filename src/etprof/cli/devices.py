"""`etprof devices`: what can be reached from here, and what each of them can do."""

from typing import Annotated

import typer

from etprof.cli.console import out


def command(
    device: Annotated[
        list[str] | None, typer.Argument(help="Describe this one only, such as ssh:USER@HOST; may be given again.")
    ] = None,
) -> None:
    """List the devices that can be reached, with their features."""
    from etprof.device_choice import list_devices

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
