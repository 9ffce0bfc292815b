"""Two finished sessions side by side: their arms of the same name and thread count, with the statistics of any pair."""

from collections.abc import Mapping
from dataclasses import replace

from etprof.analysis.category_shift import build_category_shifts, find_bottleneck
from etprof.analysis.compare import estimate_unpaired_speedup, judge, measure_noise_floor
from etprof.core.errors import UsageError
from etprof.core.report import ArmReport, Comparison, Finding, Report
from etprof.core.run import NO_TIMES, Session


def compare_sessions(sessions: Mapping[str, Session], reports: Mapping[str, Report], *, title: str) -> Report:
    """`sessions` and `reports` map the baseline's label and the candidate's, in this order, to what they are."""
    (before_label, before), (after_label, after) = sessions.items()
    for label, session in sessions.items():
        if not session.device.times_are_real:
            raise UsageError(f"{label} cannot be compared; {NO_TIMES}.", hint="Compare runs of a real CPU.")
    ours = {(arm.experiment, arm.threads): arm for arm in reports[before_label].arms if arm.latency}
    theirs = {(arm.experiment, arm.threads): arm for arm in reports[after_label].arms if arm.latency}
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise UsageError(
            f"{before_label} and {after_label} have no arm of the same name and thread count.",
            hint=f"{before_label} has {_listed(ours)}; {after_label} has {_listed(theirs)}.",
        )
    arms = [(_labelled(ours[key], before_label), _labelled(theirs[key], after_label)) for key in shared]
    return Report(
        title=title,
        model=reports[after_label].model,
        created_at=reports[after_label].created_at,
        context={**_prefixed(before_label, reports), **_prefixed(after_label, reports)},
        arms=tuple(arm for pair in arms for arm in pair),
        comparisons=tuple(compare_arms(b, c, before.plan.schedule.seed) for b, c in arms),
        findings=(*list_differences(before_label, before, after_label, after), *_left_out(ours, theirs)),
    )


def compare_arms(baseline: ArmReport, candidate: ArmReport, seed: int) -> Comparison:
    before = baseline.latency.block_medians_ms if baseline.latency else ()
    after = candidate.latency.block_medians_ms if candidate.latency else ()
    speedup = estimate_unpaired_speedup(before, after, seed)
    noise_floor = measure_noise_floor([before, after], seed)
    verdict, reason = judge(speedup, noise_floor, min(len(before), len(after)))
    return Comparison(
        baseline=baseline.experiment,
        candidate=candidate.experiment,
        threads=baseline.threads,
        speedup=speedup,
        noise_floor=noise_floor,
        p_value=None,
        verdict=verdict,
        reason=reason,
        categories=build_category_shifts(baseline, candidate),
        bottleneck_before=find_bottleneck(baseline),
        bottleneck_after=find_bottleneck(candidate),
        output_difference=None,
    )


def list_differences(before_label: str, before: Session, after_label: str, after: Session) -> list[Finding]:
    findings = [
        Finding(
            "not interleaved",
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
        Finding("runs differ", f"The {what} differs: {one} in {before_label}, {other} in {after_label}.", "")
        for what, (one, other) in facts.items()
        if one != other
    ]
    return findings


def _left_out(ours: Mapping[tuple[str, int], ArmReport], theirs: Mapping[tuple[str, int], ArmReport]) -> list[Finding]:
    return [
        Finding("not compared", f"{arm.label} stands in one run only.", "Arms are matched by name and thread count.")
        for key, arm in (*ours.items(), *theirs.items())
        if not (key in ours and key in theirs)
    ]


def _labelled(arm: ArmReport, label: str) -> ArmReport:
    return replace(arm, experiment=f"{label}: {arm.experiment}")


def _prefixed(label: str, reports: Mapping[str, Report]) -> dict[str, str]:
    return {f"{label}, {key}": value for key, value in reports[label].context.items()}


def _listed(arms: Mapping[tuple[str, int], ArmReport]) -> str:
    return "; ".join(arm.label for arm in arms.values()) or "none"
