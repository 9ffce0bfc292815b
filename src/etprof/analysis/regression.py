"""A run against a known-good one: did a variant become slower than tolerated, fail, vanish, or compute something else?

The statistics are those of any two runs (analysis/run_pairs.py). The rule is the one of equivalence tests
(Schuirmann, A Comparison of the Two One-Sided Tests Procedure, Journal of Pharmacokinetics and Biopharmaceutics 15(6),
1987): a variant passes when the whole interval of its slow-down lies within the tolerance, fails when the whole
interval lies beyond it, and is inconclusive in between, so that too few blocks can neither pass nor fail. Outputs are
compared by the tolerance of the more precise side: an INT8 model in place of an fp32 one is another model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import log

from etprof.analysis.output_differences import output_tolerance as precision_tolerance
from etprof.analysis.output_differences import relative_difference
from etprof.analysis.run_pairs import compare_variants, list_differences
from etprof.analysis.timing.doubts import find_different_outputs
from etprof.analysis.timing.speedup import MINIMUM_PAIRS, estimate_unpaired_speedup, more_blocks
from etprof.core.errors import UsageError
from etprof.core.estimates import Interval
from etprof.core.findings import Finding, FindingKind
from etprof.core.loaded_run import LoadedRun
from etprof.core.model import ExportMeta
from etprof.core.plan import Variant
from etprof.core.regression import MemoryCheck, Outcome, RegressionCheck, VariantCheck
from etprof.core.report import Report, VariantReport
from etprof.core.run import BlockResult, Session
from etprof.core.workload import Workload

# Findings of a run that the check reports as failures or doubts of its own.
_MEMORY_SEED = 0
REPORTED_APART = (FindingKind.BLOCK_FAILED, FindingKind.OUTPUTS_DIFFER, FindingKind.INCOMPLETE)


@dataclass(frozen=True, eq=False)
class CheckedRun:
    """One of the two runs, under the label it has in the answer."""

    label: str
    run: LoadedRun
    report: Report

    @property
    def session(self) -> Session:
        return self.run.session

    @property
    def variants(self) -> dict[Variant, VariantReport]:
        """Those with a successful block."""
        return {loaded.variant: self.report.of(loaded.variant) for loaded in self.run.variants if loaded.results}

    def first_result(self, variant: Variant) -> BlockResult:
        return self.run.of(variant).results[0]


def check_regression(
    known_good: CheckedRun,
    run: CheckedRun,
    tolerance: float,
    output_tolerance: float | None = None,
    memory_tolerance: float | None = None,
) -> RegressionCheck:
    """Whoever states an `output_tolerance` accepts a change of precision whose outputs stay within it."""
    is_accepted = output_tolerance is not None
    if output_tolerance is None:
        output_tolerance = min(_own_tolerance(side) for side in (known_good, run))
    _refuse_strangers(known_good, run)
    shared = [key for key in known_good.variants if key in run.variants]
    incomparable = _no_times(known_good, run)
    differences = {key: _compare_outputs(known_good, run, key) for key in shared}
    variants = tuple(
        replace(
            variant,
            output_difference=differences[key],
            memory=check_memory(known_good.variants[key], run.variants[key], memory_tolerance, incomparable),
        )
        for key in shared
        if (variant := _check_variant(known_good, run, key, tolerance)) is not None
    )
    return RegressionCheck(
        run=run.label,
        known_good=known_good.label,
        model=run.report.model,
        tolerance=tolerance,
        output_tolerance=output_tolerance,
        variants=variants,
        failures=(
            *list_failed_blocks(run.session),
            *_missing_variants(known_good, run),
            *(() if is_accepted else _changed_precision(known_good, run)),
            *_different_outputs(run, output_tolerance if is_accepted else _own_tolerance(run)),
            *_changed_outputs(known_good, run, differences, output_tolerance),
        ),
        doubts=tuple(_doubts(known_good, run, differences, variants)),
        findings=tuple(_findings(known_good, run)),
        memory_tolerance=memory_tolerance,
    )


def _own_tolerance(side: CheckedRun) -> float:
    """Of the programs of a run, that of the most precise one."""
    return min(precision_tolerance(record.export_meta) for record in side.session.programs)


def judge_slowdown(speedup: Interval | None, noise_floor: float | None, tolerance: float, blocks: int) -> VariantCheck:
    """The verdict on one variant's time, without its name: the slow-down's interval against the tolerance."""
    if speedup is None:
        few = f"{blocks} blocks are too few; at least {MINIMUM_PAIRS} are needed in each run"
        return VariantCheck("", Outcome.INCONCLUSIVE, few)
    slowdown = Interval(1 / speedup.value - 1, 1 / speedup.high - 1, 1 / speedup.low - 1, speedup.confidence)
    if slowdown.high <= tolerance:
        outcome, reason = Outcome.PASS, "the whole interval lies within the tolerance"
    elif slowdown.low <= tolerance:
        advice = more_blocks(speedup, blocks, abs(log(speedup.value * (1 + tolerance))))
        outcome, reason = Outcome.INCONCLUSIVE, f"the interval includes the tolerance; {advice}"
    elif noise_floor is not None and slowdown.value <= noise_floor:
        outcome, reason = Outcome.INCONCLUSIVE, "beyond the tolerance, but within the noise floor"
    else:
        outcome, reason = Outcome.FAIL, "the whole interval lies beyond the tolerance"
    return VariantCheck("", outcome, reason, slowdown, noise_floor)


def check_memory(
    before: VariantReport, after: VariantReport, tolerance: float | None, incomparable: str = ""
) -> MemoryCheck | None:
    """The verdict on peak memory, by the interval over blocks as for time; None where it is not asked for."""
    if tolerance is None:
        return None
    if before.runner != after.runner:
        incomparable = incomparable or f"measured by different runners, {before.runner} and {after.runner}"
    if incomparable or not before.memory or not after.memory:
        return MemoryCheck(Outcome.INCONCLUSIVE, incomparable or "the peak memory is not known in both")
    peaks = before.memory.block_peaks, after.memory.block_peaks
    judged = judge_slowdown(estimate_unpaired_speedup(*peaks, _MEMORY_SEED), None, tolerance, min(map(len, peaks)))
    return MemoryCheck(judged.outcome, judged.reason, judged.slowdown)


def _refuse_strangers(known_good: CheckedRun, run: CheckedRun) -> None:
    if set(run.session.plan.variants).isdisjoint(known_good.variants):
        known = "; ".join(variant.label for variant in known_good.variants) or "none with a successful block"
        raise UsageError(
            f"{known_good.label} and {run.label} have no variant of the same name and thread count.",
            hint=f"{known_good.label} has {known}. Check runs of the same plan.",
        )


def _check_variant(known_good: CheckedRun, run: CheckedRun, key: Variant, tolerance: float) -> VariantCheck | None:
    """None where the known-good run was not meant to be timed in this variant."""
    before, after = known_good.variants[key], run.variants[key]
    untimed = VariantCheck(
        label=before.label,
        outcome=Outcome.INCONCLUSIVE,
        reason=_no_times(known_good, run),
        peak_bytes=(before.peak_bytes, after.peak_bytes),
    )
    if untimed.reason:
        return untimed
    if before.latency is None:
        return None
    if after.latency is None:
        return replace(untimed, reason=f"not timed in {run.label}")
    comparison = compare_variants(before, after, known_good.session.plan.schedule)
    blocks = min(before.latency.blocks, after.latency.blocks)
    return replace(
        judge_slowdown(comparison.speedup, comparison.noise_floor, tolerance, blocks),
        label=before.label,
        medians_ms=(before.latency.median_ms, after.latency.median_ms),
        load_ms=(before.latency.load_ms, after.latency.load_ms),
        peak_bytes=untimed.peak_bytes,
        categories=comparison.categories,
    )


def _no_times(known_good: CheckedRun, run: CheckedRun) -> str:
    """Why the two runs' times cannot be compared; empty where they can."""
    for side in (known_good, run):
        if not side.session.device.times_are_real:
            return f"{side.label} was emulated: its times are not meaningful"
    before, after = known_good.session.device, run.session.device
    if (before.cpu_model, before.architecture) != (after.cpu_model, after.architecture):
        return f"the runs were made on different CPUs, {before.cpu_model} and {after.cpu_model}"
    ours, theirs = (_list_workloads(side.session) for side in (known_good, run))
    return "" if ours == theirs else "the runs have different workloads"


def _list_workloads(session: Session) -> list[Workload | None]:
    workloads = (each.program.workload for each in session.programs)
    return list(dict.fromkeys(each and each.outline for each in workloads))


def _compare_outputs(known_good: CheckedRun, run: CheckedRun, key: Variant) -> float | None:
    """The relative difference of the outputs; None where it is not known."""
    before, after = known_good.first_result(key).outputs, run.first_result(key).outputs
    if not before or not after or not _have_same_inputs(known_good, run, key):
        return None
    if [tensor.sha256 for tensor in before] == [tensor.sha256 for tensor in after]:
        return 0.0
    ours, theirs = known_good.run.of(key).outputs, run.run.of(key).outputs
    return None if ours is None or theirs is None else relative_difference(ours, theirs)


def _have_same_inputs(known_good: CheckedRun, run: CheckedRun, key: Variant) -> bool:
    return known_good.run.of(key).record.inputs_sha256 == run.run.of(key).record.inputs_sha256


def list_failed_blocks(session: Session) -> Iterator[str]:
    for variant in session.plan.variants:
        results = [r for r in session.results if r.variant == variant]
        failed = [r for r in results if not r.is_ok]
        if failed:
            first = failed[0]
            yield (
                f"{len(failed)} of {len(results)} blocks of {variant.stem} failed, block {first.index + 1} with: "
                f"{first.error.splitlines()[0]}"
            )


def _missing_variants(known_good: CheckedRun, run: CheckedRun) -> Iterator[str]:
    tried = {r.variant for r in run.session.results}
    for key, variant in known_good.variants.items():
        if key not in tried:
            yield f"{variant.label} is missing in {run.label}."


def _changed_precision(known_good: CheckedRun, run: CheckedRun) -> Iterator[str]:
    shared = [key for key in known_good.variants if key in run.variants]
    metas = [[side.run.of(key).record.export_meta for side in (known_good, run)] for key in shared]
    yield from dict.fromkeys(filter(None, (describe_precision_change(*sides) for sides in metas)))


def describe_precision_change(known_good: ExportMeta | None, run: ExportMeta | None) -> str:
    """Empty where it did not change, or is not known."""
    before, after = (meta.precision if meta else "" for meta in (known_good, run))
    if not before or not after or before == after:
        return ""
    return (
        f"The model's precision changed from {before} to {after}: this is another model. "
        "Accept it by stating how far its outputs may differ, with --output-tolerance."
    )


def _different_outputs(run: CheckedRun, tolerance: float) -> Iterator[str]:
    """Between the variants of the run itself, whose precision is one."""
    for comparison in run.report.comparisons:
        yield from (finding.message for finding in find_different_outputs(comparison, tolerance))


def _changed_outputs(
    known_good: CheckedRun, run: CheckedRun, differences: Mapping[Variant, float | None], tolerance: float
) -> Iterator[str]:
    for key, difference in differences.items():
        if difference is not None and difference > tolerance:
            yield (
                f"{known_good.variants[key].label}: the outputs differ from the known-good ones by {difference:.2g} "
                f"of the largest value; at most {tolerance:.2g} is expected."
            )


def _doubts(
    known_good: CheckedRun,
    run: CheckedRun,
    differences: Mapping[Variant, float | None],
    variants: tuple[VariantCheck, ...],
) -> Iterator[str]:
    if not run.session.stop_reason:
        yield f"{run.label} was interrupted after {len(run.session.results)} blocks; `etprof run --resume` finishes it."
    if not variants:
        yield "No variant was timed in both runs."
    recorded = [key for key in differences if known_good.first_result(key).outputs and run.first_result(key).outputs]
    if not all(_have_same_inputs(known_good, run, key) for key in recorded):
        yield "The inputs of the two runs differ, so their outputs cannot be compared."
        return
    for key in recorded:
        if differences[key] is None:
            yield (
                f"{known_good.variants[key].label}: the outputs are not bit-identical, and the files "
                "needed to measure the difference are missing."
            )


def _findings(known_good: CheckedRun, run: CheckedRun) -> Iterator[Finding]:
    yield from list_differences(known_good.label, known_good.session, run.label, run.session)
    for key, after in run.variants.items():
        before = known_good.variants.get(key)
        if before is None:
            yield Finding(FindingKind.NOT_COMPARED, f"{after.label} is not in {known_good.label}.", "")
            continue
        for what, one, other in (
            ("runner", before.runner, after.runner),
            ("list of hidden features", ", ".join(before.features_hidden), ", ".join(after.features_hidden)),
        ):
            if one != other:
                yield Finding(
                    FindingKind.RUNS_DIFFER,
                    f"{after.label}: the {what} differs: {one or 'none'}, {other or 'none'}.",
                    "",
                )
    for side in (known_good, run):
        if any(r.etdump for r in side.session.results) and not any(
            variant.categories for variant in side.report.variants
        ):
            yield Finding(
                FindingKind.NO_TRACES, f"The traces of {side.label} are missing, so categories are not compared.", ""
            )
    yield from (finding for finding in run.report.findings if finding.kind not in REPORTED_APART)
