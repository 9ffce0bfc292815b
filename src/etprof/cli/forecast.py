"""`etprof forecast`: what a run would take on a CPU that it was not made on, from the profile of that CPU."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import show, terminal_width
from etprof.cli.options import JsonOption, RunDirArgument, WideOption, one_run_dir


def command(
    run_dir: RunDirArgument = None,
    on: Annotated[
        Path | None, typer.Option(metavar="PROFILE", help="What `etprof devices calibrate` wrote for the other device.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PROFILE", help="That of the device of the run; default: the one kept here."),
    ] = None,
    variant: Annotated[
        str, typer.Option(metavar="NAME", help="The experiment to forecast; default: the one that hides least.")
    ] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write it there as JSON.")] = None,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    from etprof.app.forecasting import forecast_folder, render_json, require_profile, write_forecast
    from etprof.reports.forecast_tables import render_text

    profile = require_profile(on)
    forecast = forecast_folder(one_run_dir(run_dir), profile, source=source, variant=variant)
    if out:
        write_forecast(forecast, out)
        show(str(out))
    elif as_json:
        show(render_json(forecast).rstrip("\n"))
    else:
        show(render_text(forecast, None if wide else terminal_width()).rstrip("\n"))
    if forecast.expected_ms is None and forecast.floor_ms is None:
        raise typer.Exit(1)
