"""Puts the numbers of a run together into the Report that every format renders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from etprof.analysis.advice.next_steps import find_next_steps
from etprof.analysis.comparisons import build_comparisons
from etprof.analysis.explanations import add_explanation, explain_programs
from etprof.analysis.exploration import build_choice
from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.graph.data_movement import find_cancelling, list_layout_changes
from etprof.analysis.graph.work import add_work
from etprof.analysis.graph_views import build_views
from etprof.analysis.kernels.sample_tracks import build_sample_tracks
from etprof.analysis.kernels.variant_kernels import add_evidence
from etprof.analysis.memory_use import describe_memory
from etprof.analysis.model_advice import list_backgrounds
from etprof.analysis.model_findings import find_model_findings
from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.apart import list_allocations, list_apart, list_trace_findings
from etprof.analysis.operators.operator_statistics import (
    OperatorDetail,
    collect_operators,
    describe_operators,
    find_unmatched_names,
)
from etprof.analysis.operators.rollups import build_rollups
from etprof.analysis.operators.roofline import add_roofline, add_rooflines
from etprof.analysis.operators.timeline import build_tracks
from etprof.analysis.output_differences import output_tolerance
from etprof.analysis.output_findings import find_output_findings
from etprof.analysis.phase_operators import PhaseWork, divide_by_phase, join_phases
from etprof.analysis.phases import build_phases, find_phase_doubts
from etprof.analysis.predicted_kernels import KernelTables, predict_run
from etprof.analysis.program_accuracy import describe_program
from etprof.analysis.runtime_differences import find_runtime_differences
from etprof.analysis.thread_scaling import build_scaling
from etprof.analysis.timing.device_changes import describe_cores, describe_device
from etprof.analysis.timing.doubts import find_doubts
from etprof.analysis.timing.latency import block_medians_ms, summarize_latency
from etprof.analysis.timing.run_line import build_run_line
from etprof.analysis.timing.speedup import measure_noise_floor
from etprof.core.explanation import Explanation
from etprof.core.findings import Finding, FindingKind
from etprof.core.graph import GraphNode
from etprof.core.load_options import format_options
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.report import LatencySummary, Report, Track, VariantReport
from etprof.core.run import BlockResult, Session
from etprof.core.runtimes import EXECUTORCH
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_MS


@dataclass(frozen=True, eq=False)
class VariantAnalysis:
    """One variant's part of the report, with the operators in full and their graph nodes, for whoever writes tables."""

    report: VariantReport
    details: tuple[OperatorDetail, ...] = ()
    nodes: Mapping[OperatorId, GraphNode] | None = None
    tracks: tuple[Track, ...] = ()
    phases: tuple[PhaseWork, ...] = ()


@dataclass(frozen=True, eq=False)
class RunAnalysis:
    """A run, its report, and what is left over for the tables of each variant.

    `explained` has each program of the run; the first is that of the report.
    """

    run: LoadedRun
    report: Report
    variants: Mapping[Variant, VariantAnalysis]
    explained: tuple[Explanation, ...] = ()


def build_report(run: LoadedRun, *, title: str, created_at: str, tables: KernelTables | None = None) -> Report:
    return analyze_run(run, title=title, created_at=created_at, tables=tables).report


def analyze_run(run: LoadedRun, *, title: str, created_at: str, tables: KernelTables | None = None) -> RunAnalysis:
    """`tables` say which kernels XNNPACK has, by version of ExecuTorch; without them no reasons are given.

    Times of an emulated device are not meaningful, so its report has none: neither latencies nor shares of them.
    """
    session = run.session
    analyses = {loaded.variant: _analyze_variant(loaded) for loaded in run.variants}
    variants = tuple(analysis.report for analysis in analyses.values())
    reports = {each.variant: each for each in variants}
    comparisons = build_comparisons(run, reports)
    tolerances = {loaded.variant: output_tolerance(loaded.record.export_meta) for loaded in run.variants}
    doubts = [finding for each in run.sessions for finding in find_doubts(each, variants, comparisons, tolerances)]
    nodes = {variant: analysis.nodes or {} for variant, analysis in analyses.items()}
    scaling = build_scaling(run)
    predicted = predict_run(run, tables or {}, nodes)
    report = Report(
        title=title,
        model=", ".join(session.model_names),
        created_at=created_at,
        context=_build_context(session),
        variants=variants,
        comparisons=comparisons,
        findings=(
            *(Finding(FindingKind.NOTE, note, "") for note in run.notes),
            *doubts,
            *find_output_findings(run, comparisons),
            *(f for each in run.variants for f in list_trace_findings(each.variant, each.traces)),
            *find_phase_doubts(run),
            *find_runtime_differences(run),
            *find_model_findings(run, reports, nodes),
        ),
        next_steps=find_next_steps(
            [add_roofline(each, run) for each in variants if _can_be_improved(run, each.variant)],
            comparisons,
            list_backgrounds(run, nodes, predicted, scaling),
        ),
        times_are_real=run.times_are_real,
        tracks=_list_tracks(run, analyses),
        run_line=build_run_line(run.sessions) if run.times_are_real else None,
        scaling=scaling,
        plans=tuple(dict.fromkeys(each.plan for each in run.variants if each.plan)),
    )
    report = add_evidence(report, run, {variant: each.expected for variant, each in predicted.items()})
    explained = explain_programs(report, run, predicted)
    report = add_rooflines(add_explanation(report, predicted, explained[0]) if explained else report, run)
    works = {variant: analysis.phases for variant, analysis in analyses.items() if analysis.phases}
    report = replace(report, phases=build_phases(report, run, works))
    report = replace(report, choice=build_choice(run, {each.variant: each for each in report.variants}, predicted))
    return RunAnalysis(run, replace(report, views=build_views(run, report, nodes)), analyses, explained)


def _can_be_improved(run: LoadedRun, variant: Variant) -> bool:
    """The rules know what ExecuTorch can do about it; nobody works on a build that is surely worse than another."""
    is_dropped = any(each.variant == variant for session in run.sessions for each in session.dropped)
    return run.of(variant).runtime == EXECUTORCH and not is_dropped


def _analyze_variant(loaded: LoadedVariant) -> VariantAnalysis:
    traces = loaded.traces if loaded.times_are_real else ()
    timed = loaded.results if loaded.times_are_real else ()
    results = loaded.results
    report = VariantReport(
        experiment=loaded.variant.experiment,
        threads=loaded.variant.threads,
        features_hidden=results[0].features_hidden if results else (),
        latency=_summarize_latency(loaded, timed),
        accounting=None,
        categories=(),
        operators=(),
        unmatched_names=(),
        peak_bytes=max((r.peak_bytes for r in results if r.peak_bytes is not None), default=None),
        runner=", ".join(sorted({r.runner for r in results})),
        samples_ms=tuple(tuple(t / NS_PER_MS for t in r.latency_ns) for r in timed if r.latency_ns),
        noise_floor=measure_noise_floor([block_medians_ms(timed)], loaded.session.plan.schedule.seed),
        program=describe_program(loaded),
        load_options=format_options(loaded.experiment.load_options),
        memory=describe_memory(
            results,
            loaded.plan.total_bytes if loaded.plan else None,
            schedule=loaded.session.plan.schedule,
            times_are_real=loaded.times_are_real,
        ),
    )
    return _add_traced(loaded, report, traces) if traces else VariantAnalysis(report)


def _summarize_latency(loaded: LoadedVariant, timed: Sequence[BlockResult]) -> LatencySummary | None:
    latency, workload = summarize_latency(timed), loaded.workload
    if latency and workload and len(workload.traced_steps) < workload.step_count:
        # Traced sequences leave steps out, so their time does not tell what the tracer costs.
        return replace(latency, tracer_cost=None)
    return latency


def _add_traced(loaded: LoadedVariant, report: VariantReport, traces: Sequence[Trace]) -> VariantAnalysis:
    """Where the time goes: per inference, or per sequence of a workload."""
    tables = collect_operators(traces)
    accounting = build_accounting(traces)
    categories = build_categories(tables, accounting)
    details = describe_operators(tables, accounting.end_to_end_ns)
    graph = loaded.graph
    nodes = list_mapped(align_operators(tables, graph)) if graph else {}
    phases = divide_by_phase(traces, tables, loaded.workload, nodes, loaded.record.program.method)
    if phases:
        whole = join_phases(phases, accounting.setup_ns)
        accounting, categories, operators = whole.accounting, whole.categories, whole.operators
        # Its shapes are not those of every step.
        graph, nodes = None, {}
    else:
        details = tuple(replace(each, row=add_work(each.row, nodes.get(each.row.identity))) for each in details)
        operators = tuple(detail.row for detail in details)
    report = replace(
        report,
        accounting=accounting,
        categories=categories,
        operators=operators,
        unmatched_names=find_unmatched_names(traces),
        layout_changes=list_layout_changes(operators, nodes, graph),
        cancelling=find_cancelling(operators, nodes, graph, traces[0]),
        rollups=build_rollups(operators),
        apart=list_apart(traces),
        allocations=list_allocations(traces),
    )
    return VariantAnalysis(report, details, nodes, build_tracks(loaded.variant, traces), phases)


def _list_tracks(run: LoadedRun, analyses: Mapping[Variant, VariantAnalysis]) -> tuple[Track, ...]:
    """Inferences of each variant; behind them the samples of those whose inferences are there as recorded."""
    tracks: list[Track] = []
    for loaded in run.variants:
        own = analyses[loaded.variant].tracks
        if own and loaded.sampled and loaded.sampled[0].trace is loaded.traces[0]:
            samples, trace = loaded.sampled[0]
            # Inferences are recorded by the thread that calls the model.
            *others, recorded = own
            own = (*others, replace(recorded, thread=samples.main_thread))
            own += build_sample_tracks(loaded.variant, samples, trace, recorded)
        tracks += own
    return tuple(tracks)


def _build_context(session: Session) -> dict[str, str]:
    device = session.device
    context = {
        "device": device.name,
        "system": device.system,
        "cpu": f"{device.cpu_model} ({device.cpu_count} cores, {device.architecture})",
        "features": ", ".join(device.features),
        "model sha256": ", ".join(dict.fromkeys(each.model_sha256 for each in session.programs)),
        "started": session.started_at,
        "command": session.command,
    }
    if methods := sorted({r.method_name for r in session.results if r.is_ok and r.method_name}):
        context["method"] = ", ".join(methods)
    shapes = dict.fromkeys(each.program.input_shapes for each in session.programs if each.program.input_shapes)
    if shapes:
        context["input shapes"] = "; ".join(", ".join(str(list(shape)) for shape in each) for each in shapes)
    context |= describe_device(device) | describe_cores(session)
    context |= {"plan": str(session.plan_path)} if session.plan_path else {}
    context |= dict(session.versions)
    if device.sme_vector_bits:
        context["SME vector length"] = f"{device.sme_vector_bits} bits"
    if device.governor:
        context["frequency governor"] = device.governor
    return context
