"""Forecasts from Python: calibrate a device, and say what a run would take on it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from etprof.api import StrPath
from etprof.api.runs import Run, load_run
from etprof.api.tables import Table, build_table
from etprof.app.calibrating import BUDGET_S, calibrate_to
from etprof.app.devices import parse_device
from etprof.app.forecasting import forecast_analyzed
from etprof.core import records
from etprof.core.forecast import Forecast
from etprof.core.units import parse_duration
from etprof.reports.forecast_tables import render_text
from etprof.store.profile_file import load_profile

_WIDTH = 100


class RunForecast:
    """Printed, it says what `etprof forecast` says. Nothing in it is measured but the times of the run."""

    def __init__(self, forecast: Forecast) -> None:
        self.forecast = forecast

    def operators(self) -> Table:
        """A row for each operator: its measured time, and the one to expect."""
        return build_table(records.ForecastRecord._fields, records.list_forecast(self.forecast))

    def __str__(self) -> str:
        return render_text(self.forecast, _WIDTH)

    def __repr__(self) -> str:
        expected = self.forecast.expected_ms
        return f"<RunForecast {f'{expected.value:.3g} ms expected' if expected else 'no latency expected'}>"


def forecast(run: Run | StrPath, on: StrPath, *, source: StrPath | None = None, variant: str = "") -> RunForecast:
    """What a run would take on the device of the profile `on`, as `etprof forecast` says it.

    `source` is the profile of the device that the run was made on, where it was not calibrated from this machine.
    `variant` names one of its experiments; without, it is the one that hides least.
    """
    analysis = (run if isinstance(run, Run) else load_run(run))._analysis
    own = load_profile(Path(source)) if source is not None else None
    return RunForecast(forecast_analyzed(analysis, load_profile(Path(on)), source=own, variant=variant))


def calibrate(
    device: str = "local",
    *,
    out: StrPath = "profile.json",
    budget: str | float = BUDGET_S,
    threads: int = 1,
    hide: Sequence[str] = (),
    precisions: str = "fp32,int8,fp16",
    device_folder: str = "",
) -> Path:
    """Measures how fast a device executes a fixed set of operators, and writes its profile; takes a few minutes.

    The options are those of `etprof devices calibrate`.
    """
    request = replace(parse_device(device), folder=device_folder)
    calibrate_to(
        Path(out), request, hide=hide, threads=threads, precisions=precisions, budget_s=parse_duration(str(budget))
    )
    return Path(out)
