"""Two finished runs side by side: variants of the same name and thread count, with the statistics of any pair."""

from collections.abc import Mapping
from dataclasses import replace

from etprof.analysis.operators.category_changes import build_category_changes, find_bottleneck
from etprof.analysis.timing.speedup import estimate_unpaired_speedup, judge, measure_noise_floor
from etprof.core.errors import UsageError
from etprof.core.findings import Finding, FindingKind
from etprof.core.plan import Variant
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.run import Session
from etprof.core.units import NO_TIMES


def compare_runs(sessions: Mapping[str, Session], reports: Mapping[str, Report], *, title: str) -> Report:
    """`sessions` and `reports` map the baseline's label and the candidate's, in this order, to what they are."""
    (before_label, before), (after_label, after) = sessions.items()
    for label, session in sessions.items():
        if not session.device.times_are_real:
            raise UsageError(f"{label} cannot be compared; {NO_TIMES}.", hint="Compare runs of a real CPU.")
    ours = {variant.variant: variant for variant in reports[before_label].variants if variant.latency}
    theirs = {variant.variant: variant for variant in reports[after_label].variants if variant.latency}
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UsageError(
            f"{before_label} and {after_label} have no variant of the same name and thread count.",
            hint=f"{before_label} has {_listed(ours)}; {after_label} has {_listed(theirs)}.",
        )
    variants = [(_labelled(ours[key], before_label), _labelled(theirs[key], after_label)) for key in shared]
    return Report(
        title=title,
        model=reports[after_label].model,
        created_at=reports[after_label].created_at,
        context={**_prefixed(before_label, reports), **_prefixed(after_label, reports)},
        variants=tuple(variant for pair in variants for variant in pair),
        comparisons=tuple(compare_variants(b, c, before.plan.schedule.seed) for b, c in variants),
        findings=(*list_differences(before_label, before, after_label, after), *_left_out(ours, theirs)),
    )


def compare_variants(baseline: VariantReport, candidate: VariantReport, seed: int) -> Comparison:
    before = baseline.latency.block_medians_ms if baseline.latency else ()
    after = candidate.latency.block_medians_ms if candidate.latency else ()
    speedup = estimate_unpaired_speedup(before, after, seed)
    noise_floor = measure_noise_floor([before, after], seed)
    verdict, reason = judge(speedup, noise_floor, min(len(before), len(after)))
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
    )


def list_differences(before_label: str, before: Session, after_label: str, after: Session) -> list[Finding]:
    findings = [
        Finding(
            FindingKind.NOT_INTERLEAVED,
            "The two runs were made at different times, so a change of the machine looks like a difference.",
            "For a fair comparison put both into one plan.",
        )
    ]
    facts = {
        "model file": (before.model_sha256[:12], after.model_sha256[:12]),
        "CPU": (before.device.cpu_model, after.device.cpu_model),
        "system": (before.device.system, after.device.system),
    }
    for name in sorted({*before.versions, *after.versions}):
        facts[f"version of {name}"] = (before.versions.get(name, "none"), after.versions.get(name, "none"))
    findings += [
        Finding(FindingKind.RUNS_DIFFER, f"The {what} differs: {one} in {before_label}, {other} in {after_label}.", "")
        for what, (one, other) in facts.items()
        if one != other
    ]
    return findings


def _left_out(ours: Mapping[Variant, VariantReport], theirs: Mapping[Variant, VariantReport]) -> list[Finding]:
    return [
        Finding(
            FindingKind.NOT_COMPARED,
            f"{variant.label} is in one run only.",
            "Variants are matched by name and thread count.",
        )
        for key, variant in (*ours.items(), *theirs.items())
        if not (key in ours and key in theirs)
    ]


def _labelled(variant: VariantReport, label: str) -> VariantReport:
    return replace(variant, experiment=f"{label}: {variant.experiment}")


def _prefixed(label: str, reports: Mapping[str, Report]) -> dict[str, str]:
    return {f"{label}, {key}": value for key, value in reports[label].context.items()}


def _listed(variants: Mapping[Variant, VariantReport]) -> str:
    return "; ".join(variant.label for variant in variants.values()) or "none"
