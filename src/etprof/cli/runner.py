"""`etprof runner`: builds the native runner, here or for another machine, and says what is built."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import err, out
from etprof.core.errors import UsageError

app = typer.Typer(help="The program that executes a .pte: build it, or see what is built.", no_args_is_help=True)


@app.command()
def build(
    *,
    target: Annotated[
        str, typer.Option(help="Kind of machine: host, linux-arm64 or android-arm64.", metavar="NAME")
    ] = "host",
    bundle: Annotated[
        Path | None, typer.Option(help="Pack runner, libraries and C library into this .tar.gz.", metavar="FILE")
    ] = None,
    executorch_prefix: Annotated[
        Path | None, typer.Option(help="Build against this ExecuTorch install prefix.", metavar="DIR")
    ] = None,
    toolchain_file: Annotated[
        Path | None, typer.Option(help="CMake toolchain file, such as an NDK's.", metavar="FILE")
    ] = None,
    doors: Annotated[
        Path | None, typer.Option(help="Also write DIR/<platform>[-sme2-off]/executor_runner.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build again even if the runner is current.")] = False,
) -> None:
    """Build the native runner; takes seconds, and nothing when it is current."""
    from etprof.runner.build import build_runner
    from etprof.runner.bundle import ensure_bundle, pack
    from etprof.runner.cross import resolve_parts
    from etprof.runner.doors import write_doors

    if bundle and doors:
        raise UsageError("--bundle travels and --doors stay here: ask for one of them.")
    parts = resolve_parts(target, executorch_prefix, toolchain_file, _say)
    if bundle:
        made = ensure_bundle(*parts, force=force, progress=_say)
        pack(made, bundle)
        out.print(f"{made.description}\n{bundle}", markup=False)
        return
    runner = build_runner(*parts, force=force, progress=_say)
    out.print(f"{runner.description}\n{runner.path}", markup=False)
    for door in write_doors(runner, doors) if doors else ():
        out.print(str(door), markup=False)


@app.command()
def info() -> None:
    """Say what a runner would be built with, and which runners are built and current."""
    from etprof.runner.inventory import read_inventory

    for name, value in read_inventory():
        out.print(f"{name:<12} {value}", markup=False)


def _say(message: str) -> None:
    err.print(message, markup=False)
