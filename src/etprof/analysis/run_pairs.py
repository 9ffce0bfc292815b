"""Two finished runs side by side: variants of the same name and thread count, with the statistics of any pair."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from etprof.analysis.operators.category_changes import build_category_changes, find_bottleneck
from etprof.analysis.operators.rollups import compare_rollups
from etprof.analysis.timing.speedup import estimate_unpaired_speedup, judge, measure_noise_floor
from etprof.core.errors import UsageError
from etprof.core.findings import Finding, FindingKind
from etprof.core.plan import Schedule, Variant
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.run import EXECUTORCH_COMMIT, Session
from etprof.core.units import NO_TIMES

# What each run's own report says of how steadily it was measured.
_STEADINESS = (
    FindingKind.SPREAD,
    FindingKind.DRIFT,
    FindingKind.NOT_STEADY,
    FindingKind.DISTURBED,
    FindingKind.FREQUENCY_MOVED,
    FindingKind.THROTTLED,
    FindingKind.TEMPERATURE_ROSE,
    FindingKind.FEW_RUNS,
    FindingKind.INCOMPLETE,
)


def compare_runs(
    sessions: Mapping[str, Session],
    reports: Mapping[str, Report],
    *,
    title: str,
    names: Mapping[str, str] | None = None,
) -> Report:
    """`sessions` and `reports` map the baseline's label and the candidate's, in this order, to what they are.

    `names` maps variants of the baseline, each by its experiment or its stem, to what they are called in the candidate.
    """
    (before_label, before), (after_label, after) = sessions.items()
    for label, session in sessions.items():
        if not session.device.times_are_real:
            raise UsageError(f"{label} cannot be compared; {NO_TIMES}.", hint="Compare runs of a real CPU.")
    ours = {variant.variant: variant for variant in reports[before_label].variants if variant.latency}
    theirs = {variant.variant: variant for variant in reports[after_label].variants if variant.latency}
    known = f"{before_label} has {_listed(ours)}; {after_label} has {_listed(theirs)}."
    shared = _match_names(ours, theirs, names or {}, known)
    if not shared:
        raise UsageError(
            f"{before_label} and {after_label} have no variant of the same name and thread count.",
            hint=f"{known} --map OLD=NEW matches variants of other names.",
        )
    variants = [(_labelled(ours[one], before_label), _labelled(theirs[other], after_label)) for one, other in shared]
    return Report(
        title=title,
        model=reports[after_label].model,
        created_at=reports[after_label].created_at,
        context={**_prefixed(before_label, reports), **_prefixed(after_label, reports)},
        variants=tuple(variant for pair in variants for variant in pair),
        comparisons=tuple(compare_variants(b, c, before.plan.schedule) for b, c in variants),
        findings=(
            *list_differences(before_label, before, after_label, after),
            *_left_out(ours, theirs, shared),
            *_of_each_run(reports),
        ),
    )


def compare_variants(baseline: VariantReport, candidate: VariantReport, schedule: Schedule) -> Comparison:
    before = baseline.latency.block_medians_ms if baseline.latency else ()
    after = candidate.latency.block_medians_ms if candidate.latency else ()
    speedup = estimate_unpaired_speedup(before, after, schedule.seed)
    # The two runs were not interleaved: a drift of either does not cancel.
    noise_floor = measure_noise_floor([before, after], schedule.seed, interleaved=False)
    verdict, reason = judge(speedup, noise_floor, min(len(before), len(after)), schedule.equivalence_bound)
    return Comparison(
        baseline=baseline.variant,
        candidate=candidate.variant,
        speedup=speedup,
        noise_floor=noise_floor,
        p_value=None,
        verdict=verdict,
        reason=reason,
        categories=build_category_changes(baseline, candidate),
        bottleneck_before=find_bottleneck(baseline),
        bottleneck_after=find_bottleneck(candidate),
        output_difference=None,
        equivalence_bound=schedule.equivalence_bound,
        rollups=compare_rollups(baseline.rollups, candidate.rollups),
        same_program=_model_of(baseline) == _model_of(candidate),
    )


def _model_of(variant: VariantReport) -> tuple[str, str]:
    return (variant.program.model_sha256, variant.program.method) if variant.program else ("", "")


def list_differences(before_label: str, before: Session, after_label: str, after: Session) -> list[Finding]:
    findings = [
        Finding(
            FindingKind.NOT_INTERLEAVED,
            "The two runs were made at different times, so a change of the machine looks like a difference.",
            _advise_one_run(before, after),
        )
    ]
    facts = {
        "model file": (_name_models(before), _name_models(after)),
        "workload": (_name_workloads(before), _name_workloads(after)),
        "CPU": (before.device.cpu_model, after.device.cpu_model),
        "system": (before.device.system, after.device.system),
    }
    known = {*before.versions, *after.versions}
    if not (EXECUTORCH_COMMIT in before.versions and EXECUTORCH_COMMIT in after.versions):
        # Not recorded in one of them, which is no difference.
        known -= {EXECUTORCH_COMMIT}
    for name in sorted(known):
        facts[f"version of {name}"] = (before.versions.get(name, "none"), after.versions.get(name, "none"))
    findings += [
        Finding(FindingKind.RUNS_DIFFER, f"The {what} differs: {one} in {before_label}, {other} in {after_label}.", "")
        for what, (one, other) in facts.items()
        if one != other
    ]
    return findings


def _name_workloads(session: Session) -> str:
    workloads = (each.program.workload for each in session.programs)
    return "; ".join(dict.fromkeys(each.summary if each else "none" for each in workloads))


def _name_models(session: Session) -> str:
    return ", ".join(dict.fromkeys(each.model_sha256[:12] for each in session.programs))


def _advise_one_run(before: Session, after: Session) -> str:
    """Two models can be measured in one run; two installations cannot."""
    if _name_models(before) == _name_models(after):
        return "For a fair comparison run both again, one right after the other."
    if len(before.programs) == len(after.programs) == 1:
        models = [str(session.programs[0].program.model) for session in (before, after)]
        return f"For a fair comparison measure both in one run: `{shlex.join(['etprof', 'check', *models])}`."
    return "For a fair comparison put all models into one plan, as `model` of its experiments."


def _match_names(
    ours: Collection[Variant], theirs: Collection[Variant], names: Mapping[str, str], known: str
) -> list[tuple[Variant, Variant]]:
    for side, wanted in ((ours, names.keys()), (theirs, names.values())):
        for name in wanted:
            if not any(name in (variant.experiment, variant.stem) for variant in side):
                raise UsageError(f"There is no timed variant {name!r} to match.", hint=known)
    pairs = []
    for one in ours:
        name = names.get(one.stem, names.get(one.experiment, one.experiment))
        pairs += [(one, other) for other in theirs if other.stem == name or other == Variant(name, one.threads)]
    return pairs


def _of_each_run(reports: Mapping[str, Report]) -> list[Finding]:
    """How steady each run was: a comparison is no better than the noisier of its sides."""
    return [
        replace(finding, message=f"{label}: {finding.message}")
        for label, report in reports.items()
        for finding in report.findings
        if finding.kind in _STEADINESS
    ]


def _left_out(
    ours: Mapping[Variant, VariantReport],
    theirs: Mapping[Variant, VariantReport],
    shared: Sequence[tuple[Variant, Variant]],
) -> list[Finding]:
    return [
        Finding(
            FindingKind.NOT_COMPARED,
            f"{variant.label} is in one run only.",
            "Variants are matched by name and thread count; --map OLD=NEW matches others.",
        )
        for side, reports in enumerate((ours, theirs))
        for key, variant in reports.items()
        if key not in [pair[side] for pair in shared]
    ]


def _labelled(variant: VariantReport, label: str) -> VariantReport:
    return replace(variant, experiment=f"{label}: {variant.experiment}")


def _prefixed(label: str, reports: Mapping[str, Report]) -> dict[str, str]:
    return {f"{label}, {key}": value for key, value in reports[label].context.items()}


def _listed(variants: Mapping[Variant, VariantReport]) -> str:
    return "; ".join(variant.label for variant in variants.values()) or "none"
