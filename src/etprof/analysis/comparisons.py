"""The pairs of a run against each other: time, where it goes, and outputs as far as they can be compared.

Several models in one run are a family of comparisons: Holm's procedure sets how sure each of them must be, so that all
verdicts hold together. Two programs are never compared output by output: each has its distance to the eager model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.operators.category_changes import build_category_changes, find_bottleneck
from etprof.analysis.operators.operator_changes import build_operator_changes
from etprof.analysis.operators.rollups import compare_rollups
from etprof.analysis.output_differences import relative_difference
from etprof.analysis.timing.holm import holm_levels, paired_p_value
from etprof.analysis.timing.latency import block_medians_ms
from etprof.analysis.timing.speedup import (
    CONFIDENCE,
    MINIMUM_PAIRS,
    estimate_speedup,
    judge,
    log_ratios,
    measure_noise_floor,
    rank_test,
)
from etprof.core.loaded_run import LoadedRun, LoadedVariant
from etprof.core.plan import TIMING, Variant
from etprof.core.report import Comparison, OperatorChange, VariantReport

_Pairing = tuple[Variant, Variant]
# Of operators that have no partner in the other program, those that have one tell too little.
_LEAST_PAIRED = 0.5


def build_comparisons(run: LoadedRun, reports: Mapping[Variant, VariantReport]) -> tuple[Comparison, ...]:
    ratios = {pairing: _block_ratios(*map(run.of, pairing)) for pairing in _list_compared(run)}
    levels = _family_levels(run, ratios)
    return tuple(
        replace(
            _add_work(
                _build_comparison(run.of(before), run.of(after), each, levels.get((before, after), 1 - CONFIDENCE)),
                reports[before],
                reports[after],
            ),
            family=max(len(levels), 1),
            family_confidence=CONFIDENCE,
        )
        for (before, after), each in ratios.items()
    )


def _list_compared(run: LoadedRun) -> list[_Pairing]:
    """Pairs that were timed; those that were only traced where there are no others, since they have no latency."""
    pairs = [pair for session in run.sessions for pair in session.plan.compared]
    return [pair for pair in pairs if run.of(pair[0]).experiment.mode == TIMING] or pairs


def _block_ratios(before: LoadedVariant, after: LoadedVariant) -> NDArray[np.float64]:
    if not (before.times_are_real and after.times_are_real):
        return np.empty(0)
    return log_ratios(before.results, after.results)


def _family_levels(run: LoadedRun, ratios: Mapping[_Pairing, NDArray[np.float64]]) -> dict[_Pairing, float]:
    """How often the interval of each comparison may err; only in a run of several programs are they a family."""
    if len(run.session.programs) < 2:
        return {}
    known = [pairing for pairing, each in ratios.items() if len(each) >= MINIMUM_PAIRS]
    levels = holm_levels([paired_p_value(ratios[pairing]) for pairing in known], 1 - CONFIDENCE)
    return dict(zip(known, levels, strict=True))


def _build_comparison(
    before: LoadedVariant, after: LoadedVariant, ratios: NDArray[np.float64], level: float
) -> Comparison:
    """What blocks and outputs tell; what traces tell is added."""
    real = before.times_are_real and after.times_are_real
    ours, theirs = (before.results, after.results) if real else ((), ())
    schedule = before.session.plan.schedule
    speedup = estimate_speedup(ratios, schedule.seed, confidence=1 - level)
    noise_floor = measure_noise_floor([block_medians_ms(ours), block_medians_ms(theirs)], schedule.seed)
    verdict, reason = judge(speedup, noise_floor, len(ratios), schedule.equivalence_bound)
    is_same = before.record is after.record or before.record.program == after.record.program
    return Comparison(
        baseline=before.variant,
        candidate=after.variant,
        speedup=speedup,
        noise_floor=noise_floor,
        p_value=rank_test(ratios),
        verdict=verdict,
        reason=reason if real else "emulated times cannot be compared",
        categories=(),
        bottleneck_before="",
        bottleneck_after="",
        output_difference=_compare_outputs(before, after) if is_same else None,
        equivalence_bound=schedule.equivalence_bound,
        same_program=is_same,
    )


def _add_work(comparison: Comparison, baseline: VariantReport, candidate: VariantReport) -> Comparison:
    is_comparable = _have_same_runtime(baseline, candidate)
    operators: tuple[OperatorChange, ...] = ()
    if baseline.operators and candidate.operators and is_comparable:
        operators = build_operator_changes(baseline.operators, candidate.operators)
    if not comparison.same_program and not _are_aligned(operators):
        operators = ()
    return replace(
        comparison,
        categories=build_category_changes(baseline, candidate),
        bottleneck_before=find_bottleneck(baseline),
        bottleneck_after=find_bottleneck(candidate),
        operators=operators,
        rollups=compare_rollups(baseline.rollups, candidate.rollups) if is_comparable else {},
    )


def _have_same_runtime(baseline: VariantReport, candidate: VariantReport) -> bool:
    """Operators of different runtimes may have the same name and do other work: what one of them fuses, for example."""
    sides = baseline.program, candidate.program
    return len({each.runtime for each in sides if each}) < 2


def _are_aligned(changes: Sequence[OperatorChange]) -> bool:
    """Whether operators of two programs are mostly the same ones: otherwise categories and modules tell more."""
    paired = [each for each in changes if each.baseline_identity and each.candidate_identity]
    return len(paired) >= _LEAST_PAIRED * len(changes)


def _compare_outputs(before: LoadedVariant, after: LoadedVariant) -> float | None:
    """None where one of them is unknown: a variant without a successful block has no outputs that could differ."""
    if before.outputs is None or after.outputs is None:
        return None
    return relative_difference(before.outputs, after.outputs)
