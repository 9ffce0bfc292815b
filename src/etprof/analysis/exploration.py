"""Several builds of one model in one run: who is dropped after a round, and the choice once it is over."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from math import inf
from statistics import fmean, median

import numpy as np

from etprof.analysis.graph.work import build_work
from etprof.analysis.layer_losses import build_layer_rows, choose_builds
from etprof.analysis.predicted_kernels import PredictedVariant
from etprof.analysis.timing.racing import Costs, decide_race, find_beaten, find_decision, list_open
from etprof.analysis.timing.scaling import BlockTimes, Decision, Pairing, estimate_latency
from etprof.analysis.timing.speedup import CONFIDENCE, count_more_blocks, deciding_distance
from etprof.core.estimates import Interval, Verdict
from etprof.core.exploration import Candidate, Choice, ChoiceRow, Dropped, Exploration, Standing, Tie
from etprof.core.loaded_run import LoadedRun
from etprof.core.plan import TIMING, Variant
from etprof.core.predictions import SME2, CpuLevel, NodePrediction
from etprof.core.report import VariantReport
from etprof.core.run import Session
from etprof.core.units import NS_PER_MS, format_count, format_ratio

_Decided = Mapping[Pairing, Decision]


def find_dropped(session: Session, exploration: Exploration) -> tuple[Dropped, ...]:
    """The variants that the latest round shows to be surely worse than another in everything at once."""
    times = _times(session)
    left = [variant for variant in times if variant not in session.left_out]
    decided, bound = _decide(session, times, left), session.plan.schedule.equivalence_bound
    costs = {variant: _costs(session, exploration, variant) for variant in left}
    beaten = find_beaten(decided, costs, _by_speed(left, times), bound)
    return tuple(
        Dropped(variant, len(times[variant]), _describe(by, find_decision(variant, by, decided)))
        for variant, by in beaten.items()
    )


def list_undecided(session: Session) -> dict[Pairing, Interval | None]:
    """Every two variants left in the race whose order is still open, with the speed-up between them."""
    times = _times(session)
    decided = _decide(session, times, [variant for variant in times if variant not in session.left_out])
    return {pair: decided[pair].speedup for pair in list_open(decided)}


def build_choice(
    run: LoadedRun, reports: Mapping[Variant, VariantReport], predicted: Mapping[Variant, PredictedVariant]
) -> Choice | None:
    """None where a run is not about a choice between builds."""
    session, exploration = run.session, run.session.exploration
    if exploration is None:
        return None
    times = _times(session) if run.times_are_real else {}
    shares = {variant: _predict_share(each.predictions) for variant, each in predicted.items()}
    rows = [
        replace(row, sme2_predicted=shares.get(row.variant) if row.variant else None)
        for candidate in exploration.candidates
        for row in _build_rows(candidate, session, exploration, times, reports)
    ]
    front = [row for row in rows if row.standing is Standing.FRONT]
    fitting = [row for row in front if row.meets_floors]
    left = [row.variant for row in front if row.variant]
    decided = _decide(session, times, left)
    ties = _list_ties(_by_speed(left, times), decided, times, session)
    builds = choose_builds(exploration, [row.variant for row in rows if row.latency_ms is not None and row.variant])
    return Choice(
        rows=tuple(rows),
        fastest=_find_fastest(fitting, decided),
        smallest=min(fitting, key=_size_then_speed).variant if fitting else None,
        ties=ties,
        comparisons=sum(1 for _ in combinations(times, 2)),
        confidence=CONFIDENCE,
        equivalence_bound=session.plan.schedule.equivalence_bound,
        held_out=exploration.held_out,
        has_random_weights=exploration.has_random_weights,
        eager_metric=exploration.eager_metric,
        min_snr_db=exploration.min_snr_db,
        min_metric=exploration.min_metric,
        more_s=_time_to_decide(ties, session),
        extension=next((v.evidence.extension for v in reports.values() if v.evidence), ""),
        layers=build_layer_rows(exploration.sensitivity, *(reports[each] for each in builds)),
        layers_scheme=exploration.sensitivity_scheme,
        layers_threads=builds[0].threads if builds else None,
    )


def _find_fastest(rows: Sequence[ChoiceRow], decided: _Decided) -> Variant | None:
    """The shortest latency of those that no other one surely beats: who rested ran at another time than the rest."""
    known = {row.variant: row.latency_ms or inf for row in rows if row.variant}
    beaten = {
        slower
        for slower, other in permutations(known, 2)
        if find_decision(slower, other, decided).verdict is Verdict.FASTER
    }
    return min(known.keys() - beaten or known, key=known.__getitem__, default=None)


def _size_then_speed(row: ChoiceRow) -> tuple[float, float]:
    return row.file_bytes if row.file_bytes is not None else inf, row.latency_ms or inf


def _times(session: Session) -> dict[Variant, BlockTimes]:
    """Of every timed variant that has a successful block, by index: milliseconds."""
    found = {}
    for variant in session.plan.variants:
        if session.plan.experiment(variant.experiment).mode == TIMING:
            blocks = session.successful(variant)
            found[variant] = {r.index: float(np.median(r.latency_ns)) / NS_PER_MS for r in blocks if r.latency_ns}
    return {variant: blocks for variant, blocks in found.items() if blocks}


def _decide(session: Session, times: Mapping[Variant, BlockTimes], left: Collection[Variant]) -> _Decided:
    schedule = session.plan.schedule
    return decide_race(times, left, seed=schedule.seed, bound=schedule.equivalence_bound)


def _by_speed(variants: Sequence[Variant], times: Mapping[Variant, BlockTimes]) -> list[Variant]:
    return sorted(variants, key=lambda variant: estimate_latency(times[variant])[0])


def _costs(session: Session, exploration: Exploration, variant: Variant) -> Costs:
    candidate = exploration.candidate(variant.experiment)
    return Costs(
        accuracy=exploration.accuracy(candidate),
        file_bytes=candidate.file_bytes,
        peak_bytes=_peak_bytes(session, variant),
        meets_floors=exploration.meets_floors(candidate),
    )


def _peak_bytes(session: Session, variant: Variant) -> int | None:
    known = [r.peak_bytes for r in session.successful(variant) if r.peak_bytes is not None]
    return round(median(known)) if known else None


def _describe(by: Variant, found: Decision) -> str:
    assert found.speedup is not None  # a verdict has its interval
    ratio, low, high = (format_ratio(each) for each in (found.speedup.value, found.speedup.low, found.speedup.high))
    if found.verdict is Verdict.FASTER:
        return f"{by.label} is {ratio} ({low} to {high}) as fast and no worse in accuracy, file size and memory"
    return f"{by.label} is as fast ({low} to {high}), no worse in accuracy, file size and memory, and better in one"


def _build_rows(
    candidate: Candidate,
    session: Session,
    exploration: Exploration,
    times: Mapping[Variant, BlockTimes],
    reports: Mapping[Variant, VariantReport],
) -> list[ChoiceRow]:
    """One for each thread count, or the one that says why there is none."""
    plain = ChoiceRow(
        experiment=candidate.experiment,
        threads=None,
        precision=candidate.precision,
        runtime=candidate.runtime,
        standing=Standing.NOT_MEASURED,
        snr_db=candidate.snr_db,
        is_exact=candidate.is_exact,
        metric=candidate.metric,
        meets_floors=exploration.meets_floors(candidate),
        file_bytes=candidate.file_bytes,
        reason=candidate.problem,
    )
    own = [variant for variant in session.plan.variants if variant.experiment == candidate.experiment]
    return [_build_row(plain, variant, session, times, reports[variant]) for variant in own] or [plain]


def _build_row(
    plain: ChoiceRow, variant: Variant, session: Session, times: Mapping[Variant, BlockTimes], report: VariantReport
) -> ChoiceRow:
    dropped = next((each for each in session.dropped if each.variant == variant), None)
    row = replace(plain, threads=variant.threads)
    if variant not in times:
        return replace(row, reason=_why_missing(session, variant))
    latency_ms, interval = estimate_latency(times[variant])
    after = f"after {format_count(dropped.rounds, 'round')}: {dropped.reason}" if dropped else ""
    return replace(
        row,
        standing=Standing.DROPPED if dropped else Standing.FRONT,
        latency_ms=latency_ms,
        latency=interval,
        blocks=len(times[variant]),
        peak_bytes=_peak_bytes(session, variant),
        load_ms=report.latency.load_ms if report.latency else None,
        extension_share=report.evidence.share if report.evidence else None,
        reason=after,
    )


def _predict_share(predictions: Sequence[NodePrediction]) -> float | None:
    """The part of the multiply-accumulates that SME2 kernels are expected to execute where there is SME2."""
    work = [(build_work(each.node).macs or 0, each.families[CpuLevel.SME2]) for each in predictions if each.is_compute]
    whole = sum(macs for macs, _ in work)
    if not whole or all(family is None for _, family in work):
        return None
    return sum(macs for macs, family in work if family == SME2) / whole


def _why_missing(session: Session, variant: Variant) -> str:
    failed = [r for r in session.results if r.variant == variant and not r.is_ok]
    if failed:
        return failed[0].failure
    return "no block was run" if session.device.times_are_real else "times of an emulated device are not meaningful"


def _list_ties(
    order: Sequence[Variant], decided: _Decided, times: Mapping[Variant, BlockTimes], session: Session
) -> tuple[Tie, ...]:
    """Two of the front that no verdict tells apart; `order` has the fastest first."""
    ties = []
    for first, second in combinations(order, 2):
        found = find_decision(first, second, decided)
        if found.verdict in (Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE):
            rounds = len(times[first].keys() & times[second].keys())
            more = _more_rounds(found, rounds, session.plan.schedule.equivalence_bound)
            ties.append(Tie(first, second, found.speedup, found.verdict, more))
    return tuple(ties)


def _more_rounds(found: Decision, rounds: int, bound: float) -> int | None:
    if found.verdict is not Verdict.INCONCLUSIVE or found.speedup is None:
        return None
    return count_more_blocks(found.speedup, rounds, deciding_distance(found.speedup, bound))


def _time_to_decide(ties: Sequence[Tie], session: Session) -> float | None:
    """How long the rounds would take that decide what is open; None where nothing is, or no number would."""
    wanted = [tie for tie in ties if tie.verdict is Verdict.INCONCLUSIVE]
    known = [tie.more_rounds for tie in wanted if tie.more_rounds is not None]
    if not known:
        return None
    variants = {variant for tie in wanted if tie.more_rounds is not None for variant in (tie.first, tie.second)}
    of_one = {v: fmean([r.duration_s for r in session.successful(v)]) for v in variants}
    return max(known) * sum(of_one.values())
