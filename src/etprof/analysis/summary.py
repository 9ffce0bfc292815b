"""Puts one session's numbers together into the Report that every format renders."""

from collections.abc import Mapping, Sequence

from etprof.analysis.accounting import build_accounting, build_categories
from etprof.analysis.category_shift import build_category_shifts, find_bottleneck
from etprof.analysis.checks import find_doubts
from etprof.analysis.compare import estimate_speedup, judge, log_ratios, measure_noise_floor, rank_test
from etprof.analysis.device_changes import describe_cores, describe_device
from etprof.analysis.latency import block_medians_ms, summarize_latency
from etprof.analysis.layout_changes import find_nodes, list_cancelling, list_layout_changes, name_modules
from etprof.analysis.model_graph import ModelGraph
from etprof.analysis.next_steps import find_next_steps
from etprof.analysis.operator_shift import build_operator_shifts
from etprof.analysis.operators import build_operators, find_unmatched_names
from etprof.analysis.outputs import Outputs, output_tolerance, relative_difference
from etprof.analysis.tracks import build_tracks
from etprof.core.report import ArmReport, Comparison, OperatorChange, Report
from etprof.core.run import Session
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_MS

ArmKey = tuple[str, int]


def build_report(
    session: Session,
    traces: Mapping[ArmKey, Sequence[Trace]],
    outputs: Mapping[ArmKey, Outputs],
    *,
    title: str,
    created_at: str,
    graph: ModelGraph | None = None,
) -> Report:
    """`traces` are those of an arm's blocks, `outputs` the output tensors of its first good block.

    Times of an emulated device mean nothing, so that no report has any: nor latencies, nor shares of them.
    """
    if not session.device.times_are_real:
        traces = {}
    arms = tuple(
        _build_arm(session, experiment.name, threads, traces.get((experiment.name, threads), ()), graph)
        for experiment in session.plan.experiments
        for threads in experiment.threads
    )
    by_key = {(arm.experiment, arm.threads): arm for arm in arms}
    comparisons = tuple(
        _build_comparison(session, by_key[pair.baseline, threads], by_key[pair.candidate, threads], outputs)
        for pair in session.plan.pairs
        for threads in session.plan.experiment(pair.baseline).threads
        if (pair.candidate, threads) in by_key
    )
    return Report(
        title=title,
        model=session.plan.model.name,
        created_at=created_at,
        context=_build_context(session),
        arms=arms,
        comparisons=comparisons,
        findings=find_doubts(session, arms, comparisons, output_tolerance(session.export_meta)),
        next_steps=find_next_steps(arms, comparisons),
        times_are_real=session.device.times_are_real,
        tracks=tuple(
            track for arm in arms for track in build_tracks(arm.label, traces.get((arm.experiment, arm.threads), ()))
        ),
    )


def _build_arm(
    session: Session, experiment: str, threads: int, traces: Sequence[Trace], graph: ModelGraph | None
) -> ArmReport:
    results = session.results_of(experiment, threads)
    timed = results if session.device.times_are_real else ()
    nodes = find_nodes(traces, graph)
    operators = name_modules(build_operators(traces), nodes) if traces else ()
    return ArmReport(
        experiment=experiment,
        threads=threads,
        features_hidden=results[0].features_hidden if results else (),
        latency=summarize_latency(timed),
        accounting=build_accounting(traces) if traces else None,
        categories=build_categories(traces) if traces else (),
        operators=operators,
        unmatched_names=find_unmatched_names(traces) if traces else (),
        peak_bytes=max((r.peak_bytes for r in results if r.peak_bytes is not None), default=None),
        runner=", ".join(sorted({r.runner for r in results})),
        samples_ms=tuple(tuple(t / NS_PER_MS for t in r.latency_ns) for r in timed if r.latency_ns),
        layout_changes=list_layout_changes(operators, nodes),
        cancelling=list_cancelling(operators, nodes, graph, traces[0]) if traces else (),
    )


def _build_comparison(
    session: Session, baseline: ArmReport, candidate: ArmReport, outputs: Mapping[ArmKey, Outputs]
) -> Comparison:
    real = session.device.times_are_real
    ours = session.results_of(baseline.experiment, baseline.threads) if real else ()
    theirs = session.results_of(candidate.experiment, candidate.threads) if real else ()
    seed = session.plan.schedule.seed
    ratios = log_ratios(ours, theirs)
    speedup = estimate_speedup(ratios, seed)
    noise_floor = measure_noise_floor([block_medians_ms(ours), block_medians_ms(theirs)], seed)
    verdict, reason = judge(speedup, noise_floor, len(ratios))
    known = [outputs.get((arm.experiment, arm.threads)) for arm in (baseline, candidate)]
    return Comparison(
        baseline=baseline.experiment,
        candidate=candidate.experiment,
        threads=baseline.threads,
        speedup=speedup,
        noise_floor=noise_floor,
        p_value=rank_test(ratios),
        verdict=verdict,
        reason=reason if real else "emulated times cannot be compared",
        categories=build_category_shifts(baseline, candidate),
        bottleneck_before=find_bottleneck(baseline),
        bottleneck_after=find_bottleneck(candidate),
        # An arm of which no block ended well has no outputs that could differ.
        output_difference=None if known[0] is None or known[1] is None else relative_difference(known[0], known[1]),
        operators=_list_changes(baseline, candidate),
    )


def _list_changes(baseline: ArmReport, candidate: ArmReport) -> tuple[OperatorChange, ...]:
    if not baseline.operators or not candidate.operators:
        return ()
    return tuple(
        OperatorChange(
            name=shift.row.name,
            category=shift.row.category,
            delegated=shift.row.delegated,
            baseline_identity=shift.baseline.identity if shift.baseline else "",
            candidate_identity=shift.candidate.identity if shift.candidate else "",
            baseline_ms=shift.baseline.mean_ms if shift.baseline else None,
            candidate_ms=shift.candidate.mean_ms if shift.candidate else None,
            share_of_gain=shift.share_of_gain,
            newly_dominant=shift.newly_dominant,
        )
        for shift in build_operator_shifts(baseline.operators, candidate.operators)
    )


def _build_context(session: Session) -> dict[str, str]:
    device = session.device
    context = {
        "device": device.name,
        "system": device.system,
        "cpu": f"{device.cpu_model} ({device.cpu_count} cores, {device.architecture})",
        "features": ", ".join(device.features),
        "model sha256": session.model_sha256,
        "started": session.started_at,
        "command": session.command,
    }
    context |= describe_device(device) | describe_cores(session)
    context |= dict(session.versions)
    if device.sme_vector_bits:
        context["SME vector length"] = f"{device.sme_vector_bits} bits"
    if device.governor:
        context["frequency governor"] = device.governor
    return context
