"""Two models that were measured in one run, judged as a run is against a known-good one: is the new one as good?

Time is judged by the interval of the interleaved blocks (analysis/regression.py). Outputs are judged by the distance of
each model to its own eager model: the new one may be less accurate only as far as its precision allows, or by a
decibel. Where that distance is not known, outputs are compared with those of the old one.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf, log10

from etprof.analysis.output_differences import output_tolerance as precision_tolerance
from etprof.analysis.output_differences import relative_difference
from etprof.analysis.regression import (
    REPORTED_APART,
    check_memory,
    describe_precision_change,
    judge_slowdown,
    list_failed_blocks,
)
from etprof.core.loaded_run import LoadedRun
from etprof.core.plan import Variant
from etprof.core.regression import Outcome, RegressionCheck, VariantCheck
from etprof.core.report import Comparison, Report
from etprof.core.units import format_count

# Kernels of another release round elsewhere: a model that is as accurate as before may lose this much.
_SLACK_DB = 1.0


def check_programs(
    run: LoadedRun,
    report: Report,
    tolerance: float,
    output_tolerance: float | None = None,
    memory_tolerance: float | None = None,
) -> RegressionCheck:
    """Whoever states an `output_tolerance` accepts a change of precision whose outputs stay within it."""
    is_accepted = output_tolerance is not None
    sides = [(run.of(c.baseline).record, run.of(c.candidate).record) for c in report.comparisons]
    if output_tolerance is None:
        output_tolerance = min(precision_tolerance(record.export_meta) for pair in sides for record in pair)
    checks = [
        _check_outputs(
            each,
            run,
            report,
            _check_costs(each, report, tolerance, memory_tolerance),
            tolerance=output_tolerance,
            is_accepted=is_accepted,
        )
        for each in report.comparisons
    ]
    session = run.session
    changes = [] if is_accepted else [describe_precision_change(*(r.export_meta for r in pair)) for pair in sides]
    return RegressionCheck(
        run=str(sides[0][1].program.model),
        known_good=str(sides[0][0].program.model),
        model=report.model,
        tolerance=tolerance,
        output_tolerance=output_tolerance,
        variants=tuple(check for check, _ in checks),
        failures=(*list_failed_blocks(session), *dict.fromkeys(filter(None, changes)), *(f for _, f in checks if f)),
        doubts=tuple(_list_doubts(run)),
        findings=tuple(finding for finding in report.findings if finding.kind not in REPORTED_APART),
        memory_tolerance=memory_tolerance,
    )


def _check_time(comparison: Comparison, report: Report, tolerance: float) -> VariantCheck:
    before, after = report.of(comparison.baseline), report.of(comparison.candidate)
    old, new = before.latency, after.latency
    blocks = min(old.blocks if old else 0, new.blocks if new else 0)
    judged = judge_slowdown(comparison.speedup, comparison.noise_floor, tolerance, blocks)
    if not report.times_are_real:
        judged = VariantCheck("", Outcome.INCONCLUSIVE, comparison.reason)
    return replace(
        judged,
        label=format_count(comparison.candidate.threads, "thread"),
        medians_ms=(old.median_ms if old else None, new.median_ms if new else None),
        load_ms=(old.load_ms if old else None, new.load_ms if new else None),
        peak_bytes=(before.peak_bytes, after.peak_bytes),
        categories=comparison.categories,
    )


def _check_costs(
    comparison: Comparison, report: Report, tolerance: float, memory_tolerance: float | None
) -> VariantCheck:
    before, after = report.of(comparison.baseline), report.of(comparison.candidate)
    emulated = "" if report.times_are_real else comparison.reason
    memory = check_memory(before, after, memory_tolerance, emulated)
    return replace(_check_time(comparison, report, tolerance), memory=memory)


def _check_outputs(
    comparison: Comparison,
    run: LoadedRun,
    report: Report,
    check: VariantCheck,
    *,
    tolerance: float,
    is_accepted: bool,
) -> tuple[VariantCheck, str]:
    """The check with what is known of the outputs, and what is wrong with them; empty if nothing."""
    before, after = (_find_snr_db(report, side) for side in comparison.sides)
    if before is None or after is None:
        return _compare_outputs(check, comparison, run, tolerance)
    least = -20 * log10(tolerance) if tolerance else inf
    least = least if is_accepted else min(least, before - _SLACK_DB)
    problem = ""
    if after < least:
        problem = (
            f"{check.label}: the outputs have {after:.1f} dB of SNR against the eager model, those of the known-good "
            f"model {before:.1f} dB; at least {least:.1f} dB is expected."
        )
    return replace(check, snr_db=(before, after), least_snr_db=least), problem


def _compare_outputs(
    check: VariantCheck, comparison: Comparison, run: LoadedRun, tolerance: float
) -> tuple[VariantCheck, str]:
    before, after = (run.of(side).outputs for side in comparison.sides)
    difference = None if before is None or after is None else relative_difference(before, after)
    if difference is None or difference <= tolerance:
        return replace(check, output_difference=difference), ""
    return replace(check, output_difference=difference), (
        f"{check.label}: the outputs differ from the known-good ones by {difference:.2g} of the largest value; "
        f"at most {tolerance:.2g} is expected."
    )


def _find_snr_db(report: Report, variant: Variant) -> float | None:
    program = report.of(variant).program
    return None if program is None else inf if program.exact else program.snr_db


def _list_doubts(run: LoadedRun) -> Iterator[str]:
    session = run.session
    if not session.stop_reason:
        blocks = format_count(len(session.results), "block")
        yield f"The run was interrupted after {blocks}; the same command with --resume finishes it."
