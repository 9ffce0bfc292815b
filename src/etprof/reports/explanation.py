"""One thing of a report in words: its verdict, a category, an operator, a kind of finding, or what to do next."""

from collections.abc import Iterator

from etprof.core.errors import UnknownNameError
from etprof.core.report import (
    CATEGORIES,
    DELEGATE_OVERHEAD,
    FRAMEWORK_OVERHEAD,
    ArmReport,
    Comparison,
    OperatorRow,
    Report,
    Verdict,
)
from etprof.core.units import format_bytes, format_ms, format_percent, format_ratio
from etprof.reports import sentences

VERDICT, NEXT_STEPS = "verdict", "next steps"
_MOST_OPERATORS = 5

_VERDICTS = {
    Verdict.FASTER: "The whole interval lies above 1, and the gain is larger than what an arm shows against itself.",
    Verdict.SLOWER: "The whole interval lies below 1, and the loss is larger than what an arm shows against itself.",
    Verdict.NO_DIFFERENCE: "Whatever difference there is, this machine's own noise is as large.",
    Verdict.INCONCLUSIVE: "The data allows no answer: neither a difference nor the absence of one is shown.",
}
_CATEGORIES = dict(
    zip(
        (*CATEGORIES, DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD),
        (
            "Convolutions that run as such; a 1x1 convolution that runs as a matrix product counts as GEMM.",
            "Matrix products, whatever the model calls them.",
            "Bytes change place, layout or type, and nothing is computed.",
            "One output element from the same element of each input.",
            "The rest: pooling, softmax, normalisation, reductions, resizing.",
            "Time inside calls of the delegate that none of its operators owns; XNNPACK counts whole microseconds.",
            "Time between operators: dispatch, and what the runtime does around the calls.",
        ),
        strict=True,
    )
)


def list_subjects(report: Report) -> list[str]:
    """What can be explained, apart from single operators."""
    known = [name for name in _CATEGORIES if any(row.name == name for arm in report.arms for row in arm.categories)]
    kinds = dict.fromkeys(finding.kind for finding in report.findings)
    return [VERDICT, NEXT_STEPS, *known, *kinds]


def render(report: Report, subject: str) -> str:
    """`subject` is one of `list_subjects`, or the name of an operator, its identity, or a part of its name."""
    wanted = " ".join(subject.split()).lower()
    topic = next((name for name in list_subjects(report) if name.lower() == wanted), "")
    if topic == VERDICT:
        lines = list(_explain_verdict(report))
    elif topic == NEXT_STEPS:
        lines = list(_explain_next_steps(report))
    elif topic in _CATEGORIES:
        lines = list(_explain_category(report, topic))
    elif topic:
        lines = [f"{f.kind}: {f.message} {f.advice}".rstrip() for f in report.findings if f.kind == topic]
    else:
        lines = list(_explain_operators(report, wanted)) if wanted else []
    if not lines:
        names = [*list_subjects(report), *(row.name for arm in report.arms for row in arm.operators)]
        known = f"Known: {', '.join(list_subjects(report))}, and the names of operators."
        raise UnknownNameError("subject of this report", subject, dict.fromkeys(names), hint=known)
    opening = [] if report.times_are_real else [sentences.EMULATED]
    return "\n".join([*opening, *lines]) + "\n"


def _explain_verdict(report: Report) -> Iterator[str]:
    if not report.comparisons:
        yield sentences.NO_PAIR
    for comparison in report.comparisons:
        yield sentences.verdict_sentence(comparison)
        yield _VERDICTS[comparison.verdict]
        yield from filter(None, (sentences.noise_sentence(comparison), sentences.bottleneck_sentence(comparison)))
        if comparison.output_difference is not None:
            yield f"The outputs of the two arms differ by {comparison.output_difference:.2g} of the largest value."
    for arm in report.arms:
        if arm.evidence:
            yield f"{arm.label}: {arm.evidence.verdict}"
    yield sentences.trust_sentence(report)


def _explain_next_steps(report: Report) -> Iterator[str]:
    if not report.next_steps:
        yield "No step is known: no trace says where the time goes."
    for number, step in enumerate(report.next_steps, start=1):
        yield f"{number}. {step.title} ({step.arm}): {sentences.gain_sentence(step)}. {step.reason} {step.advice}"


def _explain_category(report: Report, name: str) -> Iterator[str]:
    yield f"{name}: {_CATEGORIES[name]}"
    for arm in report.arms:
        for row in arm.categories:
            if row.name == name:
                yield (
                    f"{arm.label}: {format_ms(row.mean_ms)} of each traced inference or {format_percent(row.share)}, "
                    f"in {row.events_per_run:g} events."
                )
        slowest = [row for row in arm.operators if row.category == name][:_MOST_OPERATORS]
        if slowest:
            listed = "; ".join(f"{row.name} {format_ms(row.mean_ms)}" for row in slowest)
            yield f"{arm.label}, slowest of them: {listed}."
    for comparison in report.comparisons:
        for shift in comparison.categories:
            if shift.name == name:
                change = sentences.format_change_ms(shift.candidate_ms - shift.baseline_ms)
                factor = f", speed-up {format_ratio(shift.speedup)}" if shift.speedup is not None else ""
                yield f"From {comparison.baseline} to {comparison.candidate}: {change}{factor}."


def _explain_operators(report: Report, wanted: str) -> Iterator[str]:
    rows = {row.identity: row for arm in report.arms for row in arm.operators}
    exact = [row for row in rows.values() if wanted in (row.name.lower(), row.identity.lower())]
    found = exact or [row for row in rows.values() if wanted in row.name.lower()]
    for row in found[:_MOST_OPERATORS]:
        yield f"{row.name} ({row.identity}): {row.category}, {row.subcategory}; {_place(row)}."
        for arm in report.arms:
            yield from _explain_in_arm(arm, row.identity)
        for comparison in report.comparisons:
            yield from _explain_change(comparison, row.identity)
    if len(found) > _MOST_OPERATORS:
        rest = ", ".join(row.name for row in found[_MOST_OPERATORS:])
        yield f"{len(found) - _MOST_OPERATORS} more have such a name: {rest}."


def _place(row: OperatorRow) -> str:
    where = "run by the delegate" if row.delegated else "a portable operator, run outside of any delegate"
    return f"{where}, in the module {row.module_path}" if row.module_path else where


def _explain_in_arm(arm: ArmReport, identity: str) -> Iterator[str]:
    for rank, row in enumerate(arm.operators, start=1):
        if row.identity == identity:
            kernels = f" Kernels seen: {sentences.kernels_text(row.kernels)}." if row.kernels else ""
            yield (
                f"{arm.label}: {format_ms(row.mean_ms)} of each traced inference or {format_percent(row.share)}, "
                f"number {rank} of {len(arm.operators)}.{kernels}"
            )
    for change in arm.layout_changes:
        if change.identity == identity:
            moved = f", {format_bytes(change.bytes_moved)} moved" if change.bytes_moved is not None else ""
            yield f"{arm.label}: it only moves data ({change.kind}{moved}); cause: {change.cause or 'unknown'}."


def _explain_change(comparison: Comparison, identity: str) -> Iterator[str]:
    for change in comparison.operators:
        if identity in (change.baseline_identity, change.candidate_identity):
            factor = f", speed-up {format_ratio(change.speedup)}" if change.speedup is not None else ""
            dominant = "; it dominates now and did not before" if change.newly_dominant else ""
            moved = sentences.format_change_ms(-change.gain_ms)
            yield f"From {comparison.baseline} to {comparison.candidate}: {moved}{factor}{dominant}."
