"""The phases of a run's workloads: their times and verdicts from timed steps, their operators from traced ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.kernels.evidence import write_verdict
from etprof.analysis.kernels.share_interval import estimate_share
from etprof.analysis.phase_comparisons import PhaseKey, Place, compare_phases
from etprof.analysis.phase_operators import PhaseWork
from etprof.analysis.timing.scaling import estimate_latency
from etprof.analysis.timing.speedup import CONFIDENCE, measure_noise_floor
from etprof.analysis.timing.step_curves import StepTimes, build_curves, median_steps_ms, median_totals_ms
from etprof.core.categories import COMPUTE
from etprof.core.findings import Finding, FindingKind
from etprof.core.inferences import split_inferences
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.operators import OperatorId
from etprof.core.phases import WHOLE, PhaseComparison, PhaseKernels, PhaseResult, Phases, PhaseVariant
from etprof.core.plan import Variant
from etprof.core.report import Report, VariantReport
from etprof.core.rows import KernelUse
from etprof.core.units import NS_PER_MS
from etprof.core.workload import Workload


def build_phases(report: Report, run: LoadedRun, works: Mapping[Variant, Sequence[PhaseWork]]) -> Phases | None:
    """None without a workload. `works` are the traced phases of each variant that has some.

    The report is that of the run, with kernels and comparisons.
    """
    loaded = {each.variant: each for each in run.variants if each.workload}
    if not loaded:
        return None
    schedule = run.session.plan.schedule
    times = {place: block for each in loaded.values() for place, block in _list_times(each)}
    built = {
        place: variant
        for each in loaded.values()
        for place, variant in _build_variants(each, report.of(each.variant), works.get(each.variant, ()), times)
    }
    built = _add_curves(built, loaded, times, schedule.equivalence_bound)
    places = _group(loaded)
    totals = {place: median_totals_ms(each) for place, each in times.items()}
    compared = compare_phases(report.comparisons, places, totals, schedule)
    rows = [_build_row(key, own, loaded, built, compared.get(key, ())) for key, own in places.items()]
    return Phases(
        rows=tuple(rows),
        comparisons=sum(each.speedup is not None for row in rows if not row.is_whole for each in row.comparisons),
        curves=sum(bool(each.curve and each.curve.growth) for each in built.values()),
        confidence=CONFIDENCE,
        equivalence_bound=schedule.equivalence_bound,
    )


def find_phase_doubts(run: LoadedRun) -> Iterator[Finding]:
    """Traces that cannot be divided, because they end in the middle of a sequence."""
    for loaded in run.variants:
        if loaded.workload and any(trace.phase is None for trace in loaded.traces):
            yield Finding(
                FindingKind.INCOMPLETE,
                f"{loaded.variant.label}: a trace does not hold whole sequences; its operators have no phases.",
                "Run the plan again.",
            )


def _group(loaded: Mapping[Variant, LoadedVariant]) -> dict[PhaseKey, list[Place]]:
    """The rows: phases of the same name and number of steps are one, wherever they stand in their workload."""
    found: dict[PhaseKey, list[Place]] = {}
    for variant, each in loaded.items():
        workload = _workload(each)
        for number, phase in enumerate(workload.phases):
            found.setdefault(PhaseKey(phase.name, phase.repeats), []).append((variant, number))
    for variant, each in loaded.items():
        workload = _workload(each)
        found.setdefault(PhaseKey(WHOLE, workload.step_count, True), []).append((variant, len(workload.phases)))
    return found


def _workload(loaded: LoadedVariant) -> Workload:
    assert loaded.workload is not None  # those without one are left out first
    return loaded.workload


def _list_times(loaded: LoadedVariant) -> Iterator[tuple[Place, StepTimes]]:
    """The steps of each phase."""
    known = loaded.steps if loaded.times_are_real else {}
    for number, (first, end) in enumerate(_workload(loaded).bounds):
        yield (loaded.variant, number), {index: block[:, first:end] for index, block in known.items()}


def _whole_totals(loaded: LoadedVariant) -> dict[int, NDArray[np.int64]]:
    """Whole sequences, gaps included."""
    timed = loaded.results if loaded.times_are_real else ()
    return {r.index: np.array(r.latency_ns, np.int64) for r in timed if r.latency_ns}


def _build_variants(
    loaded: LoadedVariant, report: VariantReport, works: Sequence[PhaseWork], times: Mapping[Place, StepTimes]
) -> Iterator[tuple[Place, PhaseVariant]]:
    """A variant in each of its phases, and in all of them together."""
    count, whole = len(_workload(loaded).phases), _mean_sequence_ms(loaded)
    kernels = {row.identity: row.kernels for row in report.operators}
    sampled = _divide_kernels(loaded, report)
    means = []
    for number in range(count):
        own = times[loaded.variant, number]
        variant = _describe_times(loaded, own, {index: block.sum(axis=1) for index, block in own.items()})
        means.append(_mean_total_ms(own))
        variant = replace(variant, mean_ms=means[-1], share=_share(means[-1], whole), kernels=sampled.get(number))
        yield (loaded.variant, number), _add_work(variant, works[number], kernels) if works else variant
    known = [mean for mean in means if mean is not None]
    together = replace(
        _describe_times(loaded, {}, _whole_totals(loaded)),
        mean_ms=whole,
        share=_share(whole, whole),
        gaps_ms=whole - sum(known) if whole is not None and len(known) == count else None,
        traced_steps=sum(work.accounting.runs for work in works),
        accounting=report.accounting,
        categories=report.categories,
    )
    yield (loaded.variant, count), together


def _add_work(
    variant: PhaseVariant, work: PhaseWork, kernels: Mapping[OperatorId, tuple[KernelUse, ...]]
) -> PhaseVariant:
    rows = [replace(each.row, samples_ms=(), kernels=kernels.get(each.row.identity, ())) for each in work.details]
    return replace(
        variant,
        traced_steps=work.accounting.runs,
        accounting=work.accounting,
        categories=work.categories,
        operators=tuple(rows),
    )


def _describe_times(loaded: LoadedVariant, times: StepTimes, totals: Mapping[int, NDArray[np.int64]]) -> PhaseVariant:
    """The times of a phase; `totals` are what it takes of each sequence, by block. A whole sequence has no `times`."""
    known = {index: each for index, each in totals.items() if each.size and np.median(each) > 0}
    steps = {index: value for index, value in median_steps_ms(times).items() if value > 0}
    medians = {index: float(np.median(each)) / NS_PER_MS for index, each in known.items()}
    step_ms, step = estimate_latency(steps) if steps else (None, None)
    seed = loaded.session.plan.schedule.seed
    return PhaseVariant(
        experiment=loaded.variant.experiment,
        threads=loaded.variant.threads,
        blocks=len(known),
        sequences=sum(map(len, known.values())),
        step_ms=step_ms,
        step=step,
        sequence_ms=float(np.median(np.concatenate(list(known.values())))) / NS_PER_MS if known else None,
        sequence=estimate_latency(medians)[1] if medians else None,
        mean_ms=None,
        share=None,
        noise_floor=measure_noise_floor([list(medians.values())], seed),
    )


def _mean_sequence_ms(loaded: LoadedVariant) -> float | None:
    """Of the sequences whose steps are known."""
    timed = [r.latency_ns for r in loaded.results if r.index in loaded.steps and r.latency_ns]
    if not timed or not loaded.times_are_real:
        return None
    return sum(map(sum, timed)) / sum(map(len, timed)) / NS_PER_MS


def _mean_total_ms(times: StepTimes) -> float | None:
    sequences = sum(len(block) for block in times.values())
    return sum(int(block.sum()) for block in times.values()) / sequences / NS_PER_MS if sequences else None


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _divide_kernels(loaded: LoadedVariant, report: VariantReport) -> dict[int, PhaseKernels]:
    """What was sampled in the operators of each phase."""
    evidence = report.evidence
    if evidence is None:
        return {}
    parts = [part for parts in split_inferences([block.trace for block in loaded.sampled]) for part in parts]
    phase_of = {part.kind: part.phase for part in parts if part.phase is not None}
    found = {}
    for number in sorted(set(phase_of.values())):
        own = [row for row in evidence.operators if phase_of.get(row.identity.kind) == number]
        compute = [row for row in own if row.category in COMPUTE]
        hits = sum(round(row.share.value * row.samples) for row in compute if row.share)
        share = estimate_share(hits, sum(row.samples for row in compute))
        found[number] = PhaseKernels(
            extension=evidence.extension,
            shown=evidence.shown,
            samples=sum(row.samples for row in own),
            share=share,
            verdict=write_verdict(evidence.extension, compute, share, "time" if loaded.times_are_real else "samples"),
        )
    return found


def _add_curves(
    built: Mapping[Place, PhaseVariant],
    loaded: Mapping[Variant, LoadedVariant],
    times: Mapping[Place, StepTimes],
    bound: float,
) -> dict[Place, PhaseVariant]:
    """The whole sequence has no curve: its phases do different work."""
    places = [place for place in built if place[1] < len(_workload(loaded[place[0]]).phases)]
    positions = [_positions(_workload(loaded[variant]), number) for variant, number in places]
    curves = build_curves([times[place] for place in places], positions, bound)
    known = dict(zip(places, curves, strict=True))
    return {place: replace(variant, curve=known.get(place)) for place, variant in built.items()}


def _positions(workload: Workload, number: int) -> NDArray[np.int64]:
    first, end = workload.bounds[number]
    return workload.positions[first:end]


def _build_row(
    key: PhaseKey,
    places: Sequence[Place],
    loaded: Mapping[Variant, LoadedVariant],
    built: Mapping[Place, PhaseVariant],
    compared: Sequence[PhaseComparison],
) -> PhaseResult:
    variant, number = places[0]
    workload = _workload(loaded[variant])
    phase = None if key.is_whole else workload.phases[number]
    return PhaseResult(
        name=key.name,
        method=phase.method if phase else "",
        steps=key.steps,
        tokens=phase.stride if phase else 0,
        variants=tuple(built[place] for place in places),
        comparisons=tuple(compared),
        is_whole=key.is_whole,
    )
