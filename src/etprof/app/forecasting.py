"""Forecasts runs: finds the profile of the CPU that a run was made on, and puts the forecast beside its report."""

import json
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from etprof.analysis.predicted_kernels import predict_run
from etprof.analysis.report import RunAnalysis
from etprof.analysis.run_forecasts import ForecastInput, forecast_variant, profile_device
from etprof.app.calibrating import find_profile
from etprof.app.reporting import analyze
from etprof.core.device_profile import DeviceProfile
from etprof.core.errors import UnknownNameError, UsageError
from etprof.core.forecast import Forecast
from etprof.core.report import VariantReport
from etprof.core.run import DeviceInfo
from etprof.store.json_file import write_text
from etprof.store.kernel_table_file import load_kernel_table
from etprof.store.profile_file import load_profile

# 1: the first.
SCHEMA_VERSION = 1


def forecast_folder(run: Path, on: Path, *, source: Path | None = None, variant: str = "") -> Forecast:
    """The forecast of a run for the device of a profile; `source` is the profile of the device that it ran on."""
    target = load_profile(on)
    return forecast_analyzed(analyze(run), target, source=load_profile(source) if source else None, variant=variant)


def forecast_analyzed(
    analysis: RunAnalysis, target: DeviceProfile, *, source: DeviceProfile | None = None, variant: str = ""
) -> Forecast:
    """Without `variant` that of the run's variants which hides least."""
    chosen = choose_variant(analysis, variant)
    loaded = analysis.run.of(chosen.variant)
    own = analysis.variants[chosen.variant]
    versions = {result.executorch_version for result in loaded.results}
    tables = {version: load_kernel_table(version) for version in versions}
    given = ForecastInput(
        report=chosen,
        loaded=loaded,
        nodes=own.nodes or {},
        predicted=predict_run(analysis.run, tables, {chosen.variant: own.nodes or {}}).get(chosen.variant),
    )
    return forecast_variant(given, source or find_source(loaded.session.device, target), target)


def add_forecast(analysis: RunAnalysis, on: Path) -> RunAnalysis:
    """The analysis whose report has the forecast for the device of a profile."""
    return replace(analysis, report=replace(analysis.report, forecast=forecast_analyzed(analysis, load_profile(on))))


def choose_variant(analysis: RunAnalysis, name: str) -> VariantReport:
    """By its experiment; the one with the fewest threads where it has several counts."""
    report = analysis.report
    if name:
        known = [each for each in report.variants if each.experiment == name]
        if not known:
            names = list(dict.fromkeys(each.experiment for each in report.variants))
            raise UnknownNameError("variant of this run", name, names, hint=f"It has {', '.join(names)}.")
        return min(known, key=lambda each: each.threads)
    timed = [each for each in report.variants if each.latency] or list(report.variants)
    if not timed:
        raise UsageError("The run has no variants.")
    return min(timed, key=lambda each: (len(each.features_hidden), each.threads))


def find_source(device: DeviceInfo, target: DeviceProfile) -> DeviceProfile | None:
    """The profile of a run's own CPU: the one to forecast for, where it is the same CPU, else what was kept of it."""
    return target if profile_device(device).is_same_cpu(target.device) else find_profile(device)


def require_profile(path: Path | None) -> Path:
    if path is None:
        raise UsageError(
            "Name the profile of the device to forecast for: --on PROFILE.",
            hint="It is made on that device with: etprof devices calibrate --out profile.json",
        )
    return path


def render_json(forecast: Forecast) -> str:
    body = TypeAdapter(Forecast).dump_python(forecast, mode="json")
    return json.dumps({"schema_version": SCHEMA_VERSION, **body}, indent=2, ensure_ascii=False) + "\n"


def write_forecast(forecast: Forecast, target: Path) -> None:
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}.", hint="Make it first, or name another --out.")
    write_text(target, render_json(forecast))
