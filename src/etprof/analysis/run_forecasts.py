"""The forecast of a run's variant: what is expected, what bounds it, and what is missing for either."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from statistics import mean, stdev

import numpy as np

from etprof.analysis.advice.certainty import tracer_ms
from etprof.analysis.forecast import Projection, project
from etprof.analysis.forecast_ratios import RatioModel, list_samples
from etprof.analysis.operator_costs import MULTIPLYING, OperatorCost, list_costs
from etprof.analysis.operators.accounting import account_runs
from etprof.analysis.operators.roofline import build_roofline
from etprof.analysis.predicted_kernels import PredictedVariant
from etprof.core.device_profile import PROBES, DeviceProfile, Level, ProfiledDevice
from etprof.core.errors import UsageError
from etprof.core.estimates import Interval
from etprof.core.extensions import Extension, best_extension
from etprof.core.forecast import VALIDATION, Forecast
from etprof.core.graph import GraphNode
from etprof.core.loaded_run import LoadedVariant
from etprof.core.operators import OperatorId
from etprof.core.predictions import SME2, CpuLevel
from etprof.core.report import LatencySummary, VariantReport
from etprof.core.run import DeviceInfo
from etprof.core.units import NS_PER_MS

_EMULATED = (
    "Not known: an emulated run has no times that a forecast could start from. Run the model on any real CPU first, "
    "such as this machine: `etprof profile MODEL`."
)
_NO_TIMES = (
    "Not known: the latency and the times of the operators. Run the model with timed and traced iterations: "
    "`etprof profile MODEL`."
)
_NO_GRAPH = (
    "Not known: the sizes of the operators, which are in the model's graph. Export the model with "
    "`etprof export MODEL` and run it again."
)
_TOO_SHORT = (
    "Not known: the operators take less than two microseconds on average, and XNNPACK counts whole ones. Their times "
    "say too little for a forecast."
)
_SHORTEST_MEAN_MS = 0.002
_PEAKS_ONLY = (
    "No latency is expected: the profile has peaks only, which bound a latency and do not predict it. "
    "`etprof devices calibrate` on that device makes a whole profile."
)
_NO_PEAKS = "Not known: the shortest possible latency there, because the profile has no peaks."


@dataclass(frozen=True, eq=False)
class ForecastInput:
    """A variant as it was measured and analysed; `nodes` and `predicted` are what its graph tells."""

    report: VariantReport
    loaded: LoadedVariant
    nodes: Mapping[OperatorId, GraphNode]
    predicted: PredictedVariant | None

    @property
    def costs(self) -> tuple[OperatorCost, ...]:
        runs = self.report.accounting.runs if self.report.accounting else 0
        return list_costs(self.report.operators, self.nodes, runs)

    @property
    def overhead_ms(self) -> float:
        """Of the median inference: what no operator owns, and the tracer does not add."""
        runs = [(account_runs(trace), trace.is_steady) for trace in self.loaded.traces]
        rest = [(each.end_to_end - each.delegated - each.portable)[steady] for each, steady in runs]
        return max(float(np.median(np.concatenate(rest))) / NS_PER_MS - tracer_ms(self.report), 0.0)


def profile_device(info: DeviceInfo) -> ProfiledDevice:
    return ProfiledDevice(
        system=info.system,
        architecture=info.architecture,
        cpu_model=info.cpu_model,
        cpu_count=info.cpu_count,
        features=info.features,
        soc=info.soc,
        sme_vector_bits=info.sme_vector_bits,
    )


def forecast_variant(given: ForecastInput, source: DeviceProfile | None, target: DeviceProfile) -> Forecast:
    """`source` is the profile of the CPU that the variant ran on, where there is one."""
    session = given.loaded.session
    extension = find_shown_extension(target.device)
    forecast = Forecast(
        variant=given.report.variant,
        source=profile_device(session.device),
        target=target.device,
        extension=extension.label if extension else "",
        measured_ms=given.report.latency.median_ms if given.report.latency else None,
        validation=VALIDATION,
    )
    if missing := _find_missing(given):
        return replace(forecast, missing=(missing,))
    costs, overhead_ms = given.costs, given.overhead_ms
    eligible = {cost.identity: _is_eligible(cost, given.predicted, extension) for cost in costs}
    whole_ms = sum(cost.time_ms for cost in costs) + overhead_ms
    untouched_ms = whole_ms - sum(cost.time_ms for cost in costs if eligible[cost.identity])
    forecast = replace(
        forecast,
        ceiling_speedup=whole_ms / untouched_ms if untouched_ms > 0 else None,
        untouched_share=untouched_ms / whole_ms if whole_ms else None,
        floor_ms=_find_floor(given.report, target),
        missing=() if target.peaks else (_NO_PEAKS,),
    )
    found = _find_levels(given, source, target)
    if isinstance(found, str):
        return replace(forecast, missing=(found, *forecast.missing))
    expected = project(costs, overhead_ms, RatioModel(list_samples(*found)), eligible)
    alone = _find_extension_speedup(expected, found, eligible, costs)
    return _add_expected(forecast, expected, given.report.latency, alone)


def find_shown_extension(device: ProfiledDevice) -> Extension | None:
    try:
        return best_extension(device.architecture, device.features)
    except UsageError:
        return None


def _find_missing(given: ForecastInput) -> str:
    if not given.loaded.times_are_real:
        return _EMULATED
    if not given.report.operators or given.report.latency is None:
        return _NO_TIMES
    if not given.nodes:
        return _NO_GRAPH
    counted = [cost.time_ms for cost in given.costs if cost.is_delegated]
    return _TOO_SHORT if counted and mean(counted) < _SHORTEST_MEAN_MS else ""


_Side = tuple[DeviceProfile, Level]


def _find_levels(
    given: ForecastInput, source: DeviceProfile | None, target: DeviceProfile
) -> tuple[_Side, _Side] | str:
    """The level that the variant ran on, and the target with nothing hidden; or what is missing for them."""
    command = f"etprof devices calibrate {_name_device(given.loaded.session.device)}"
    if not target.operators:
        return _PEAKS_ONLY
    if source is None or not source.operators:
        return f"Not known: how fast the CPU of this run executes the probe operators. Calibrate it: `{command}`."
    if difference := _find_difference(source, target, given.report.threads):
        return difference
    level, shown = source.find_level(given.report.features_hidden), target.find_level(())
    if shown is None:
        return "Not known: how fast that CPU is with nothing hidden. Calibrate that device again."
    if level is None:
        hidden = ",".join(given.loaded.experiment.hide_isa)
        return f"Not known: how fast this CPU is with {hidden} hidden. Calibrate it again: `{command} --hide {hidden}`."
    return (source, level), (target, shown)


def _name_device(device: DeviceInfo) -> str:
    return "local" if device.name in ("", "this machine") else device.name


def _find_difference(source: DeviceProfile, target: DeviceProfile, threads: int) -> str:
    """What keeps two profiles from being compared."""
    old = next((each.probes for each in (source, target) if each.probes != PROBES), None)
    if old is not None:
        return f"A profile has the probes of version {old}, not {PROBES}: calibrate that device again."
    if {source.threads, target.threads} != {threads}:
        return (
            f"The run and the two profiles have {threads}, {source.threads} and {target.threads} threads: only equal "
            f"numbers are compared. Calibrate both devices with `--threads {threads}`, or forecast another variant."
        )
    return ""


def _is_eligible(cost: OperatorCost, predicted: PredictedVariant | None, extension: Extension | None) -> bool:
    """Whether the extension may have a kernel for it; what is not known may, so that the ceiling holds.

    Which operators SME2 has kernels for was probed. Of other extensions XNNPACK has kernels for anything it executes.
    """
    if not cost.is_delegated or extension is None:
        return False
    if SME2.lower() not in extension.features:
        return True
    prediction = predicted.by_operator.get(cost.identity) if predicted else None
    if prediction is None:
        return cost.group == MULTIPLYING
    family = prediction.families[CpuLevel.SME2]
    return prediction.is_compute if family is None else family == SME2


def _find_floor(variant: VariantReport, target: DeviceProfile) -> float | None:
    """What the peaks of the target allow at best; what was executed here says nothing about there."""
    if target.peaks is None:
        return None
    rows = tuple(replace(row, kernels=()) for row in variant.operators)
    roofline = build_roofline(replace(variant, operators=rows, features_hidden=()), target.peaks, is_own=False)
    return roofline.floor_ms if roofline else None


def _find_extension_speedup(
    expected: Projection, sides: tuple[_Side, _Side], eligible: Mapping[OperatorId, bool], costs: Sequence[OperatorCost]
) -> Interval | None:
    """What the extension alone brings on the target: with it hidden there, against with it shown."""
    source, (target, shown) = sides
    extension = find_shown_extension(target.device)
    hidden = next((each for each in target.levels if extension and each.hide_isa == extension.hide_isa), None)
    if hidden is None:
        return None
    overhead_ms = expected.measured_ms - sum(cost.time_ms for cost in costs)
    before = project(costs, overhead_ms, RatioModel(list_samples(source, (target, hidden))), eligible)
    there = [replace(cost, time_ms=row.expected_ms) for cost, row in zip(costs, before.rows, strict=True)]
    rest_ms = before.expected_ms - sum(cost.time_ms for cost in there)
    model = RatioModel(list_samples((target, hidden), (target, shown)))
    return project(there, rest_ms, model, eligible).speedup


def _add_expected(
    forecast: Forecast, expected: Projection, latency: LatencySummary | None, extension_speedup: Interval | None
) -> Forecast:
    """Traced times give the ratio, the latency without a tracer what it is applied to."""
    assert latency is not None  # what lacks one is missing, and was answered so
    speedup = expected.speedup
    noise = _measure_noise(latency)
    low, high = speedup.low / exp(noise), speedup.high * exp(noise)
    measured = latency.median_ms
    return replace(
        forecast,
        expected_ms=Interval(measured / speedup.value, measured / high, measured / low, speedup.confidence),
        speedup=speedup,
        extension_speedup=extension_speedup,
        rows=expected.rows,
        shares=expected.shares,
    )


def _measure_noise(latency: LatencySummary) -> float:
    """How uncertain the measured latency itself is: the standard error of its blocks, as a share."""
    blocks = latency.block_medians_ms
    return stdev(blocks) / mean(blocks) / len(blocks) ** 0.5 if len(blocks) > 1 else 0.0
