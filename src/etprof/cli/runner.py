"""`etprof runner`: builds the native runner, here or for another machine, and says what is built."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import say, show
from etprof.cli.options import refuse_together

app = typer.Typer(no_args_is_help=True)


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
    executor_scripts: Annotated[
        Path | None, typer.Option(help="Also write DIR/<platform>[-sme2-off]/executor_runner.", metavar="DIR")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build again even if the runner is current.")] = False,
) -> None:
    """Build the native runner, unless it is current."""
    from etprof.runner.build import build_runner
    from etprof.runner.bundle import ensure_bundle
    from etprof.runner.bundle_archive import make_place, pack
    from etprof.runner.cross import resolve_parts
    from etprof.runner.executor_scripts import write_executor_scripts

    refuse_together(bundle=bundle, executor_scripts=executor_scripts)
    parts = resolve_parts(target, executorch_prefix, toolchain_file, say)
    if bundle:
        make_place(bundle)
        made = ensure_bundle(*parts, force=force, progress=say)
        pack(made, bundle)
        show(f"{made.description}\n{bundle}")
        return
    runner = build_runner(*parts, force=force, progress=say)
    show(f"{runner.description}\n{runner.path}")
    for script in write_executor_scripts(runner, executor_scripts) if executor_scripts else ():
        show(str(script))


@app.command()
def info() -> None:
    """Show what a runner would be built with, and which runners are built and current."""
    from etprof.runner.inventory import read_inventory

    for name, value in read_inventory():
        show(f"{name:<12} {value}")
