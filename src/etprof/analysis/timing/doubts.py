"""Doubts about a measurement, found in the data: each a Finding with what was seen and what to do about it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.device_changes import find_device_changes
from etprof.analysis.timing.disturbances import find_disturbed_blocks
from etprof.core.findings import Finding, FindingKind
from etprof.core.plan import SEQUENTIAL, Variant
from etprof.core.report import Comparison, VariantReport
from etprof.core.run import BlockResult, Session
from etprof.core.units import NO_TIMES, format_count, format_percent

_WIDE_SPREAD = 0.05
_DRIFT = 0.05
_FEW_SAMPLES = 30
_COSTLY_TRACER = 0.15
_ROSE = "The machine warmed up, was throttled, or got more other work; let it cool and close other programs."
_FELL = "The machine was still settling, or other work ended; start when it is idle, or raise schedule.blocks."


def find_doubts(
    session: Session,
    variants: Sequence[VariantReport],
    comparisons: Sequence[Comparison],
    tolerances: Mapping[Variant, float],
) -> tuple[Finding, ...]:
    """`tolerances` are how far the outputs of each variant may differ from those of others of its program."""
    found: list[Finding] = []
    found += [Finding(FindingKind.NOTE, note, "") for note in session.notes]
    found += _failed_blocks(session)
    compared = [c for c in comparisons if c.sides in session.plan.compared]
    found += [f for c in compared for f in find_different_outputs(c, tolerances[c.candidate])]
    own = [variant for variant in variants if variant.variant in session.plan.variants]
    found += [f for variant in own for f in _variant_doubts(variant, session)]
    found += find_device_changes(session)
    found += _emulation(session)
    return tuple(found)


def _failed_blocks(session: Session) -> Iterable[Finding]:
    yield from _list_failures(session)
    for variant in session.given_up:
        tried = sum(result.variant == variant for result in session.results)
        if tried < session.plan.schedule.blocks:
            yield Finding(
                FindingKind.GIVEN_UP,
                f"{variant.label} was not run again: its first two blocks failed the same way.",
                "Correct what failed, then finish the run: etprof run with --resume.",
            )
    if not session.stop_reason:
        yield Finding(
            FindingKind.INCOMPLETE,
            f"The run was interrupted after {format_count(len(session.results), 'block')}.",
            "Finish it: etprof run with --resume.",
        )
    if session.plan.schedule.order == SEQUENTIAL and session.plan.pairs:
        yield Finding(
            FindingKind.NOT_INTERLEAVED,
            "The variants ran one after the other, so a drift of the machine looks like a difference between them.",
            "Use schedule.order interleaved.",
        )


def _list_failures(session: Session) -> Iterable[Finding]:
    """Blocks of a variant that failed the same way are one finding."""
    failed: dict[tuple[Variant, str], list[BlockResult]] = {}
    for result in session.results:
        if not result.is_ok:
            failed.setdefault((result.variant, result.error), []).append(result)
    for (variant, error), results in failed.items():
        whole = sum(result.variant == variant for result in session.results)
        yield Finding(
            FindingKind.BLOCK_FAILED,
            f"{_blocks(results, whole)} of {variant.stem} failed: {error}",
            f"Read {results[0].log}; failed blocks are not counted, the others are.",
        )


def _blocks(some: Sequence[BlockResult], whole: int) -> str:
    """Block 3; or 5 of 12 blocks."""
    return f"Block {some[0].index + 1}" if len(some) == 1 else f"{len(some)} of {format_count(whole, 'block')}"


def find_different_outputs(comparison: Comparison, tolerance: float) -> Iterable[Finding]:
    difference = comparison.output_difference
    if difference is not None and difference > tolerance:
        yield Finding(
            FindingKind.OUTPUTS_DIFFER,
            f"{' and '.join(reversed(comparison.names))} give different outputs: the largest difference is "
            f"{difference:.2g} of the largest value, at most {tolerance:.2g} is expected.",
            "Do not rely on the speed-up until the outputs agree: one of the variants computes something else.",
        )


def _variant_doubts(variant: VariantReport, session: Session) -> Iterable[Finding]:
    results = session.successful(variant.variant)
    yield from _latency_doubts(variant)
    yield from _machine_doubts(variant, results)
    yield from find_disturbed_blocks(variant.label, results, session.device)
    if any(r.is_stock for r in results):
        is_compared = any(variant.variant in pair for pair in session.plan.compared)
        yield from _stock_doubts(variant, has_trace=any(r.etdump for r in results), is_compared=is_compared)
    if variant.unmatched_names:
        yield Finding(
            FindingKind.UNKNOWN_OPERATORS,
            f"{variant.label}: no category rule matches {', '.join(variant.unmatched_names[:5])}; counted as Other.",
            "Report the names, or add rules of your own.",
        )


def _latency_doubts(variant: VariantReport) -> Iterable[Finding]:
    latency = variant.latency
    if latency is None:
        return
    medians = np.asarray(latency.block_medians_ms)
    spread = float(medians.max() / medians.min()) - 1
    if spread > _WIDE_SPREAD:
        yield Finding(
            FindingKind.SPREAD,
            f"{variant.label}: block medians differ by up to {format_percent(spread)}.",
            "Close other programs, plug in the power supply, or raise schedule.blocks.",
        )
    if len(medians) >= 4 and abs(drift := _drift(medians)) > _DRIFT:
        yield Finding(
            FindingKind.DRIFT,
            f"{variant.label}: latency {'rose' if drift > 0 else 'fell'} by {format_percent(abs(drift))} over the run.",
            (_ROSE if drift > 0 else _FELL) + " Interleaving keeps the comparison fair.",
        )
    if latency.samples < _FEW_SAMPLES:
        yield Finding(
            FindingKind.FEW_RUNS,
            f"{variant.label}: only {format_count(latency.samples, 'timed iteration')}.",
            "Raise num_runs or schedule.blocks; percentiles of so few are not meaningful.",
        )
    if latency.tracer_cost is not None and latency.tracer_cost > _COSTLY_TRACER:
        yield Finding(
            FindingKind.COSTLY_TRACER,
            f"{variant.label}: traced iterations were {format_percent(latency.tracer_cost)} slower than untraced ones.",
            "Read operator times as shares; latency comes from untraced iterations.",
        )


def _stock_doubts(variant: VariantReport, *, has_trace: bool, is_compared: bool) -> Iterable[Finding]:
    """What a stock runner does not report."""
    if variant.latency and variant.latency.is_traced:
        yield Finding(
            FindingKind.TRACED_LATENCY,
            f"{variant.label}: the runner's event tracer was on during timing, so the latency includes its cost.",
            "Compare it only with variants of such runners, or omit runner_path: etprof's runner times untraced.",
        )
    if not has_trace:
        yield Finding(
            FindingKind.NO_TRACES,
            f"{variant.label}: the runner has no event tracer, so where the time goes is unknown.",
            "Build it with EXECUTORCH_ENABLE_EVENT_TRACER=ON, or omit runner_path.",
        )
    if is_compared:
        yield Finding(
            FindingKind.OUTPUTS_UNKNOWN,
            f"{variant.label}: the runner reports no outputs, so it is unknown whether both variants compute the same.",
            "Omit runner_path: etprof's runner reports them.",
        )


def _machine_doubts(variant: VariantReport, results: Sequence[BlockResult]) -> Iterable[Finding]:
    disturbed = [result for result in results if result.retried]
    if disturbed:
        first = disturbed[0].retried[0]
        again = f"was run again: {first}" if len(disturbed) == 1 else f"were run again, the first because {first}"
        yield Finding(
            FindingKind.DISTURBED,
            f"{variant.label}: {_blocks(disturbed, len(results)).lower()} {again}.",
            "Keep the machine quiet and cool while it measures.",
        )
    unsteady = sum(r.warmup_steady is False for r in results)
    if unsteady:
        yield Finding(
            FindingKind.NOT_STEADY,
            f"{variant.label}: in {unsteady} of {format_count(len(results), 'block')} times were still changing when "
            "warm-up ended.",
            "Raise warmup.max.",
        )
    in_force = {r.threads_in_force for r in results} - {None, variant.threads}
    if in_force:
        yield Finding(
            FindingKind.THREADS_DIFFER,
            f"{variant.label}: {', '.join(str(n) for n in in_force)} threads were used, not {variant.threads}.",
            "This machine or runner does not support that many.",
        )


def _emulation(session: Session) -> Iterable[Finding]:
    if not session.device.times_are_real:
        yield Finding(FindingKind.EMULATED, f"{NO_TIMES}.", "Measure latency on a real CPU.")


def _drift(medians: NDArray[np.float64]) -> float:
    """The change from the first to the last block along the straight line through them, as a share of their mean."""
    slope = float(np.polyfit(np.arange(len(medians)), medians, 1)[0])
    return slope * (len(medians) - 1) / float(medians.mean())
