"""Doubts about a measurement, found in the data: each a Finding with what was seen and what to do about it."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.device_changes import find_device_changes
from etprof.core.plan import SEQUENTIAL
from etprof.core.report import ArmReport, Comparison, Finding
from etprof.core.run import NO_TIMES, BlockResult, Session
from etprof.core.units import format_ms, format_percent, format_ratio

_WIDE_SPREAD = 0.05
_DRIFT = 0.05
_FEW_SAMPLES = 30
_SLOW_FIRST_RUN = 2.0
_FREQUENCY_MOVED = 0.05
_COSTLY_TRACER = 0.15


def find_doubts(
    session: Session, arms: Sequence[ArmReport], comparisons: Sequence[Comparison], tolerance: float
) -> tuple[Finding, ...]:
    found: list[Finding] = []
    found += [Finding("note", note, "") for note in session.notes]
    found += _failed_blocks(session)
    found += [f for c in comparisons for f in _output_doubts(c, tolerance)]
    found += [f for arm in arms for f in _arm_doubts(arm, session)]
    found += find_device_changes(session)
    found += _emulation(session)
    return tuple(found)


def _failed_blocks(session: Session) -> Iterable[Finding]:
    for result in session.results:
        if not result.is_ok:
            yield Finding(
                "block failed",
                f"Block {result.index + 1} of {result.key} failed: {result.error}",
                f"Read {result.log}; the other blocks are counted, this one is not.",
            )
    if not session.stop_reason:
        yield Finding(
            "incomplete",
            f"The run was interrupted after {len(session.results)} blocks.",
            "Finish it: etprof run with --resume.",
        )
    if session.plan.schedule.order == SEQUENTIAL and session.plan.pairs:
        yield Finding(
            "not interleaved",
            "The arms ran one after the other, so a drift of the machine looks like a difference between them.",
            "Use schedule.order interleaved.",
        )


def _output_doubts(comparison: Comparison, tolerance: float) -> Iterable[Finding]:
    difference = comparison.output_difference
    if difference is not None and difference > tolerance:
        yield Finding(
            "outputs differ",
            f"{comparison.candidate} and {comparison.baseline} give different outputs: the largest difference is "
            f"{difference:.2g} of the largest value, {tolerance:.2g} is expected at most.",
            "Do not trust the speed-up before the outputs agree: one of the arms computes something else.",
        )


def _arm_doubts(arm: ArmReport, session: Session) -> Iterable[Finding]:
    results = session.results_of(arm.experiment, arm.threads)
    yield from _latency_doubts(arm)
    yield from _machine_doubts(arm, results)
    if any(r.is_stock for r in results):
        is_compared = any(arm.experiment in (pair.baseline, pair.candidate) for pair in session.plan.pairs)
        yield from _stock_doubts(arm, has_trace=any(r.etdump for r in results), is_compared=is_compared)
    if arm.unmatched_names:
        yield Finding(
            "unknown operators",
            f"{arm.label}: no rule knows {', '.join(arm.unmatched_names[:5])}; their time is in Other.",
            "Tell us the name, or add a rule.",
        )


def _latency_doubts(arm: ArmReport) -> Iterable[Finding]:
    latency = arm.latency
    if latency is None:
        return
    medians = np.asarray(latency.block_medians_ms)
    spread = float(medians.max() / medians.min()) - 1
    if spread > _WIDE_SPREAD:
        yield Finding(
            "spread",
            f"{arm.label}: block medians lie {format_percent(spread)} apart.",
            "Close other programs, plug in the power supply, or raise schedule.blocks.",
        )
    if len(medians) >= 4 and abs(drift := _drift(medians)) > _DRIFT:
        yield Finding(
            "drift",
            f"{arm.label}: latency {'rose' if drift > 0 else 'fell'} by {format_percent(abs(drift))} over the run.",
            "The machine warmed up or was throttled; let it cool. Interleaving keeps the comparison fair.",
        )
    if latency.samples < _FEW_SAMPLES:
        yield Finding(
            "few runs",
            f"{arm.label}: only {latency.samples} timed iterations.",
            "Raise num_runs or schedule.blocks; percentiles of so few mean little.",
        )
    if latency.cold_ms and latency.cold_ms > _SLOW_FIRST_RUN * latency.median_ms:
        yield Finding(
            "slow first run",
            f"{arm.label}: the first inference took {format_ms(latency.cold_ms)}, "
            f"{format_ratio(latency.cold_ms / latency.median_ms)} the steady {format_ms(latency.median_ms)}.",
            "Users meet the first one: warm the model up when the application starts.",
        )
    if latency.tracer_cost is not None and latency.tracer_cost > _COSTLY_TRACER:
        yield Finding(
            "costly tracer",
            f"{arm.label}: traced iterations were {format_percent(latency.tracer_cost)} slower than untraced ones.",
            "Read operator times as shares; latency comes from untraced iterations.",
        )


def _stock_doubts(arm: ArmReport, *, has_trace: bool, is_compared: bool) -> Iterable[Finding]:
    """What a runner that is not ours leaves unknown."""
    if arm.latency and arm.latency.is_traced:
        yield Finding(
            "traced latency",
            f"{arm.label}: the runner's event tracer was on while it was timed; its cost is in the latency.",
            "Compare it with arms of such runners only, or leave out runner_path: our own times without a tracer.",
        )
    if not has_trace:
        yield Finding(
            "no traces",
            f"{arm.label}: the runner has no event tracer, so where the time goes is unknown.",
            "Build it with EXECUTORCH_ENABLE_EVENT_TRACER=ON, or leave out runner_path.",
        )
    if is_compared:
        yield Finding(
            "outputs unknown",
            f"{arm.label}: the runner tells no outputs, so whether both arms compute the same is unknown.",
            "Leave out runner_path: our own runner tells them.",
        )


def _machine_doubts(arm: ArmReport, results: Sequence[BlockResult]) -> Iterable[Finding]:
    for result in results:
        for reason in result.retried:
            yield Finding(
                "disturbed",
                f"{arm.label}, block {result.index + 1} was run again: {reason}.",
                "Keep the machine quiet and cool while it measures.",
            )
    unsteady = sum(r.warmup_steady is False for r in results)
    if unsteady:
        yield Finding(
            "not steady",
            f"{arm.label}: in {unsteady} of {len(results)} blocks times were still moving when warm-up ended.",
            "Raise warmup.max.",
        )
    in_force = {r.threads_in_force for r in results} - {None, arm.threads}
    if in_force:
        yield Finding(
            "threads differ",
            f"{arm.label}: {', '.join(str(n) for n in in_force)} threads were in force, {arm.threads} were asked for.",
            "This machine or runner cannot give that many.",
        )
    moved = max((_frequency_change(r) for r in results), default=0.0)
    if moved > _FREQUENCY_MOVED:
        yield Finding(
            "frequency moved",
            f"{arm.label}: the CPU frequency changed by up to {format_percent(moved)} within a block.",
            "Set the performance governor, or let the machine cool.",
        )


def _emulation(session: Session) -> Iterable[Finding]:
    if not session.device.times_are_real:
        yield Finding("emulated", f"{NO_TIMES}.", "Measure latency on a real CPU.")


def _drift(medians: NDArray[np.float64]) -> float:
    """The change from the first to the last block along the straight line through them, as a share of their mean."""
    slope = float(np.polyfit(np.arange(len(medians)), medians, 1)[0])
    return slope * (len(medians) - 1) / float(medians.mean())


def _frequency_change(result: BlockResult) -> float:
    pairs = zip(result.cpu_before.frequencies_khz, result.cpu_after.frequencies_khz, strict=False)
    return max((abs(after - before) / before for before, after in pairs if before), default=0.0)
