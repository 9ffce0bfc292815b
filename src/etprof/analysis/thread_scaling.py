"""The thread counts of a run: its curves from timed blocks, and what stops scaling from traced ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.analysis.timing.scaling import (
    BlockTimes,
    build_crossover,
    build_curve,
    decide_family,
    estimate_mean,
    fit_serial_share,
    list_family,
)
from etprof.analysis.timing.speedup import CONFIDENCE, MINIMUM_PAIRS
from etprof.core.categories import COMPUTE, DATA_MOVEMENT, OVERHEADS
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.plan import Variant
from etprof.core.scaling import PartCurve, Scaling, ScalingCurve, StepEffect
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_MS

# What limits each of them differs: the units that multiply, the memory, and what one thread does alone.
MATRIX_WORK, MOVEMENT, OTHER_WORK, OVERHEAD = "Matrix work", "Data movement", "Other operators", "Overhead"
_PART_OF = {**dict.fromkeys(COMPUTE, MATRIX_WORK), DATA_MOVEMENT: MOVEMENT, **dict.fromkeys(OVERHEADS, OVERHEAD)}
PARTS = (MATRIX_WORK, MOVEMENT, OTHER_WORK, OVERHEAD)

# By part, thread count and block: milliseconds of an inference.
_PartTimes = Mapping[str, Mapping[int, BlockTimes]]


def build_scaling(run: LoadedRun) -> Scaling | None:
    """None where no experiment was timed at two thread counts."""
    session = run.session
    timed = {each.variant: _block_medians(each) for each in run.variants if each.session is session}
    counts: dict[str, list[int]] = {}
    for variant in (variant for variant, blocks in timed.items() if blocks):
        counts.setdefault(variant.experiment, []).append(variant.threads)
    counts = {name: own for name, own in counts.items() if len(own) > 1}
    if not counts or not run.times_are_real:
        return None
    times = {Variant(name, threads): timed[Variant(name, threads)] for name, own in counts.items() for threads in own}
    schedule, device, compared = session.plan.schedule, session.device, session.plan.compared
    bound = schedule.equivalence_bound
    family = list_family(counts, compared)
    decided = decide_family(family, times, seed=schedule.seed, bound=bound)
    sides = dict.fromkeys((before.experiment, after.experiment) for before, after in compared)
    crossovers = [build_crossover(*names, decided, bound) for names in sides if names[0] != names[1]]
    curves = [build_curve(name, times, decided, bound) for name in counts]
    return Scaling(
        curves=tuple(_add_parts(curve, _part_times(curve, run)) for curve in curves),
        crossovers=tuple(each for each in crossovers if each),
        comparisons=sum(each.speedup is not None for each in decided.values()),
        confidence=CONFIDENCE,
        equivalence_bound=bound,
        usable_cores=device.cpu_count,
        performance_cores=device.performance_cores,
        sme_units=device.sme_units,
    )


def _block_medians(loaded: LoadedVariant) -> BlockTimes:
    return {r.index: float(np.median(r.latency_ns)) / NS_PER_MS for r in loaded.results if r.latency_ns}


def _part_times(curve: ScalingCurve, run: LoadedRun) -> _PartTimes:
    """Empty where a thread count was not traced in every block."""
    found: dict[str, dict[int, dict[int, float]]] = {part: {} for part in PARTS}
    for point in curve.points:
        loaded = run.of(Variant(curve.experiment, point.threads))
        traced = [result for result in loaded.results if result.etdump]
        if not traced or len(traced) != len(loaded.traces):
            return {}
        for result, trace in zip(traced, loaded.traces, strict=True):
            for part, time_ms in _divide(trace).items():
                found[part].setdefault(point.threads, {})[result.index] = time_ms
    return found


def _divide(trace: Trace) -> dict[str, float]:
    parts = dict.fromkeys(PARTS, 0.0)
    for row in build_categories(collect_operators((trace,)), build_accounting((trace,))):
        parts[_PART_OF.get(row.name, OTHER_WORK)] += row.mean_ms
    return parts


def _add_parts(curve: ScalingCurve, times: _PartTimes) -> ScalingCurve:
    if not times:
        return curve
    fitted = [point.threads for point in curve.points if point.threads <= (curve.fitted_to or 0)]
    parts = tuple(
        PartCurve(
            name=name,
            times_ms=tuple(float(np.mean(list(own[point.threads].values()))) for point in curve.points),
            serial_share=fit_serial_share({threads: own[threads] for threads in fitted}) if fitted else None,
        )
        for name, own in times.items()
        if any(time for blocks in own.values() for time in blocks.values())
    )
    return replace(curve, parts=parts, limiting_part=_find_limiting(curve, [part.name for part in parts], times))


def _find_limiting(curve: ScalingCurve, names: Sequence[str], times: _PartTimes) -> str:
    """The part that loses most time against ideal scaling where scaling ends; empty where two may be first."""
    limit, fewest = curve.limit, curve.points[0].threads
    ends = limit.more if limit and limit.effect is not StepEffect.INCONCLUSIVE else curve.points[-1].threads
    rounds = sorted(set.intersection(*(set(times[name][n]) for name in names for n in (fewest, ends))))
    if len(rounds) < MINIMUM_PAIRS:
        return ""
    lost = {
        name: np.array([times[name][ends][i] - times[name][fewest][i] * fewest / ends for i in rounds])
        for name in names
    }
    first, *others = sorted(lost, key=lambda name: -float(lost[name].mean()))
    stands_out = all(estimate_mean(lost[first] - lost[other]).low > 0 for other in others)
    return first if stands_out and estimate_mean(lost[first]).low > 0 else ""
