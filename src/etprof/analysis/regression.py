"""A run against a known-good one: did an arm become slower than tolerated, fail, vanish, or compute something else?

The statistics are those of any two runs (analysis/sessions.py). The rule is the one of equivalence tests (Schuirmann, A
Comparison of the Two One-Sided Tests Procedure, Journal of Pharmacokinetics and Biopharmaceutics 15(6), 1987): an arm
passes when the whole interval of its slow-down lies within the tolerance, fails when the whole interval lies beyond it,
and is inconclusive in between, so that too few blocks can neither pass nor fail.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from etprof.analysis.compare import MINIMUM_PAIRS, more_blocks
from etprof.analysis.outputs import Outputs, output_tolerance, relative_difference
from etprof.analysis.sessions import compare_arms, list_differences
from etprof.core.errors import UsageError
from etprof.core.regression import ArmCheck, Outcome, RegressionCheck
from etprof.core.report import ArmReport, Finding, Interval, Report
from etprof.core.run import BlockResult, Session

ArmKey = tuple[str, int]

# Findings of a run that the check tells as failures or doubts of its own.
_TOLD = ("block failed", "outputs differ", "incomplete")


@dataclass(frozen=True)
class CheckedRun:
    """One of the two runs; `outputs` are the output tensors of each arm's first good block, where their files are."""

    label: str
    session: Session
    report: Report
    outputs: Mapping[ArmKey, Outputs]

    @property
    def arms(self) -> dict[ArmKey, ArmReport]:
        """The arms of which a block ended well."""
        good = {(r.experiment, r.threads) for r in self.session.results if r.is_ok}
        return {(a.experiment, a.threads): a for a in self.report.arms if (a.experiment, a.threads) in good}

    def first_result(self, key: ArmKey) -> BlockResult:
        return self.session.results_of(*key)[0]


def check_regression(known_good: CheckedRun, run: CheckedRun, tolerance: float) -> RegressionCheck:
    _refuse_strangers(known_good, run)
    shared = [key for key in known_good.arms if key in run.arms]
    differences = {key: _compare_outputs(known_good, run, key) for key in shared}
    arms = tuple(
        replace(arm, output_difference=differences[key])
        for key in shared
        if (arm := _check_arm(known_good, run, key, tolerance)) is not None
    )
    return RegressionCheck(
        run=run.label,
        known_good=known_good.label,
        model=run.report.model,
        tolerance=tolerance,
        arms=arms,
        failures=(
            *_failed_blocks(run.session),
            *_missing_arms(known_good, run),
            *_changed_outputs(known_good, run, differences),
        ),
        doubts=tuple(_doubts(known_good, run, differences, arms)),
        findings=tuple(_findings(known_good, run)),
    )


def judge_slowdown(speedup: Interval | None, noise_floor: float | None, tolerance: float, blocks: int) -> ArmCheck:
    """The verdict on one arm's time, without its name: the slow-down's interval against the tolerance."""
    if speedup is None:
        few = f"{blocks} blocks are too few; {MINIMUM_PAIRS} are needed at least in each run"
        return ArmCheck("", Outcome.INCONCLUSIVE, few)
    slowdown = Interval(1 / speedup.value - 1, 1 / speedup.high - 1, 1 / speedup.low - 1, speedup.confidence)
    if slowdown.high <= tolerance:
        outcome, reason = Outcome.PASS, "the whole interval lies within the tolerance"
    elif slowdown.low <= tolerance:
        advice = more_blocks(speedup, blocks, 1 / (1 + tolerance))
        outcome, reason = Outcome.INCONCLUSIVE, f"the interval includes the tolerance; {advice}"
    elif noise_floor is not None and slowdown.value <= noise_floor:
        outcome, reason = Outcome.INCONCLUSIVE, "beyond the tolerance, but a run compared with itself differs as much"
    else:
        outcome, reason = Outcome.FAIL, "the whole interval lies beyond the tolerance"
    return ArmCheck("", outcome, reason, slowdown, noise_floor)


def _refuse_strangers(known_good: CheckedRun, run: CheckedRun) -> None:
    planned = {(experiment.name, threads) for experiment, threads in run.session.plan.arms}
    if planned.isdisjoint(known_good.arms):
        known = "; ".join(arm.label for arm in known_good.arms.values()) or "none that ended well"
        raise UsageError(
            f"{known_good.label} and {run.label} have no arm of the same name and thread count.",
            hint=f"{known_good.label} has {known}. Check runs of the same plan.",
        )


def _check_arm(known_good: CheckedRun, run: CheckedRun, key: ArmKey, tolerance: float) -> ArmCheck | None:
    """None where the known-good run was not meant to be timed in this arm."""
    before, after = known_good.arms[key], run.arms[key]
    told = ArmCheck(
        label=before.label,
        outcome=Outcome.INCONCLUSIVE,
        reason=_no_times(known_good, run),
        peak_bytes=(before.peak_bytes, after.peak_bytes),
    )
    if told.reason:
        return told
    if before.latency is None:
        return None
    if after.latency is None:
        return replace(told, reason=f"not timed in {run.label}")
    comparison = compare_arms(before, after, known_good.session.plan.schedule.seed)
    blocks = min(before.latency.blocks, after.latency.blocks)
    return replace(
        judge_slowdown(comparison.speedup, comparison.noise_floor, tolerance, blocks),
        label=before.label,
        medians_ms=(before.latency.median_ms, after.latency.median_ms),
        load_ms=(before.latency.load_ms, after.latency.load_ms),
        peak_bytes=told.peak_bytes,
        categories=comparison.categories,
    )


def _no_times(known_good: CheckedRun, run: CheckedRun) -> str:
    """Why the two runs' times cannot be held against each other; empty where they can."""
    for side in (known_good, run):
        if not side.session.device.times_are_real:
            return f"{side.label} was emulated: its times mean nothing"
    before, after = known_good.session.device, run.session.device
    if (before.cpu_model, before.architecture) != (after.cpu_model, after.architecture):
        return f"the runs were made on different CPUs, {before.cpu_model} and {after.cpu_model}"
    return ""


def _compare_outputs(known_good: CheckedRun, run: CheckedRun, key: ArmKey) -> float | None:
    """The relative difference of the outputs; None where it is not recorded or not to be had."""
    before, after = known_good.first_result(key).outputs, run.first_result(key).outputs
    if not before or not after or known_good.session.inputs_sha256 != run.session.inputs_sha256:
        return None
    if [tensor.sha256 for tensor in before] == [tensor.sha256 for tensor in after]:
        return 0.0
    if key not in known_good.outputs or key not in run.outputs:
        return None
    return relative_difference(known_good.outputs[key], run.outputs[key])


def _failed_blocks(session: Session) -> Iterator[str]:
    for experiment, threads in session.plan.arms:
        results = [r for r in session.results if (r.experiment, r.threads) == (experiment.name, threads)]
        failed = [r for r in results if not r.is_ok]
        if failed:
            yield (
                f"{len(failed)} of {len(results)} blocks of {failed[0].key} failed, block {failed[0].index + 1} with: "
                f"{failed[0].error.splitlines()[0]}"
            )


def _missing_arms(known_good: CheckedRun, run: CheckedRun) -> Iterator[str]:
    tried = {(r.experiment, r.threads) for r in run.session.results}
    for key, arm in known_good.arms.items():
        if key not in tried:
            yield f"{arm.label} is missing in {run.label}."


def _changed_outputs(
    known_good: CheckedRun, run: CheckedRun, differences: Mapping[ArmKey, float | None]
) -> Iterator[str]:
    yield from (finding.message for finding in run.report.findings if finding.kind == "outputs differ")
    tolerance = max(output_tolerance(side.session.export_meta) for side in (known_good, run))
    for key, difference in differences.items():
        if difference is not None and difference > tolerance:
            yield (
                f"{known_good.arms[key].label}: the outputs differ from the known-good ones by {difference:.2g} "
                f"of the largest value; {tolerance:.2g} is expected at most."
            )


def _doubts(
    known_good: CheckedRun, run: CheckedRun, differences: Mapping[ArmKey, float | None], arms: tuple[ArmCheck, ...]
) -> Iterator[str]:
    if not run.session.stop_reason:
        yield f"{run.label} was interrupted after {len(run.session.results)} blocks; `etprof run --resume` finishes it."
    if not arms:
        yield "No arm was timed in both runs."
    recorded = [key for key in differences if known_good.first_result(key).outputs and run.first_result(key).outputs]
    if recorded and known_good.session.inputs_sha256 != run.session.inputs_sha256:
        yield "The inputs of the two runs differ, so that their outputs cannot be compared."
        return
    for key in recorded:
        if differences[key] is None:
            yield (
                f"{known_good.arms[key].label}: the outputs are not the same to the bit, and the files that would tell "
                "by how much they differ are not there."
            )


def _findings(known_good: CheckedRun, run: CheckedRun) -> Iterator[Finding]:
    yield from list_differences(known_good.label, known_good.session, run.label, run.session)
    for key, after in run.arms.items():
        before = known_good.arms.get(key)
        if before is None:
            yield Finding("not compared", f"{after.label} is not in {known_good.label}.", "")
            continue
        for what, one, other in (
            ("runner", before.runner, after.runner),
            ("list of hidden features", ", ".join(before.features_hidden), ", ".join(after.features_hidden)),
        ):
            if one != other:
                yield Finding(
                    "runs differ", f"{after.label}: the {what} differs: {one or 'none'}, {other or 'none'}.", ""
                )
    for side in (known_good, run):
        if any(r.etdump for r in side.session.results) and not any(arm.categories for arm in side.report.arms):
            yield Finding("no traces", f"The traces of {side.label} are not read: no categories are compared.", "")
    yield from (finding for finding in run.report.findings if finding.kind not in _TOLD)
