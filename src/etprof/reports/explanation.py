"""One thing of a report in words: its verdict, a category, an operator, a kind of finding, or what to do next."""

from collections.abc import Iterator

from etprof.core.categories import PARTS
from etprof.core.errors import UnknownNameError
from etprof.core.estimates import Verdict
from etprof.core.findings import group_findings
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.rows import OperatorRow
from etprof.core.units import format_bytes, format_ms, format_percent, format_ratio
from etprof.reports import sentences
from etprof.reports.phase_tables import list_all as list_phase_answers
from etprof.reports.phase_tables import unit_of
from etprof.reports.program_tables import accuracy_sentence, correction_sentence
from etprof.reports.roofline_tables import list_sentences
from etprof.reports.sample_places import evidence_sentence
from etprof.reports.thread_tables import list_all

VERDICT, NEXT_STEPS, THREADS, ROOFLINE, PHASES = "verdict", "next steps", "threads", "roofline", "phases"
_MOST_OPERATORS = 5

_VERDICTS = {
    Verdict.FASTER: "The whole interval lies above 1, and the gain exceeds the noise floor.",
    Verdict.SLOWER: "The whole interval lies below 1, and the loss exceeds the noise floor.",
    Verdict.NO_DIFFERENCE: "The whole interval lies within the equivalence bound: any difference is smaller.",
    Verdict.INCONCLUSIVE: "The data shows neither a difference nor the absence of one.",
}
_CATEGORIES = {part.name: part.meaning for part in PARTS}


def list_subjects(report: Report) -> list[str]:
    """What can be explained, apart from single operators."""
    known = [
        name
        for name in _CATEGORIES
        if any(row.name == name for variant in report.variants for row in variant.categories)
    ]
    kinds = dict.fromkeys(finding.kind for finding in report.findings)
    where_known = [*([PHASES] if report.phases else []), *([THREADS] if report.scaling else [])]
    return [VERDICT, NEXT_STEPS, *where_known, ROOFLINE, *known, *kinds]


def render(report: Report, subject: str) -> str:
    """`subject` is one of `list_subjects`, or the name of an operator, its identity, or a part of its name."""
    wanted = " ".join(subject.split()).lower()
    topic = next((name for name in list_subjects(report) if name.lower() == wanted), "")
    if topic == VERDICT:
        lines = list(_explain_verdict(report))
    elif topic == NEXT_STEPS:
        lines = list(_explain_next_steps(report))
    elif topic == THREADS and report.scaling:
        lines = list_all(report.scaling)
    elif topic == PHASES:
        lines = list_phase_answers(report)
    elif topic == ROOFLINE:
        lines = list_sentences(report)
    elif topic in _CATEGORIES:
        lines = list(_explain_category(report, topic))
    elif topic:
        groups = group_findings(finding for finding in report.findings if finding.kind == topic)
        lines = [f"{group.kind}: {sentences.finding_sentence(group)}" for group in groups]
    else:
        lines = list(_explain_operators(report, wanted)) if wanted else []
    if not lines:
        names = [*list_subjects(report), *(row.name for variant in report.variants for row in variant.operators)]
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
        time = (sentences.bottleneck_sentence(comparison), sentences.slower_sentence(comparison))
        yield from filter(None, (sentences.noise_sentence(comparison), *time))
        if comparison.output_difference is not None:
            yield f"The outputs of the two variants differ by {comparison.output_difference:.2g} of the largest value."
        yield from filter(None, (accuracy_sentence(comparison, report),))
    yield from filter(None, (correction_sentence(report),))
    for variant in report.variants:
        if variant.evidence:
            yield f"{variant.label}: {evidence_sentence(variant.evidence)}"
    yield sentences.trust_sentence(report)


def _explain_next_steps(report: Report) -> Iterator[str]:
    if not report.next_steps:
        yield sentences.no_steps_sentence(report)
    for number, step in enumerate(report.next_steps, start=1):
        gain = sentences.gain_sentence(step)
        yield f"{number}. {step.title} ({step.variant.label}): {gain}. {step.reason} {step.advice} Rule: {step.rule}."


def _explain_category(report: Report, name: str) -> Iterator[str]:
    yield f"{name}: {_CATEGORIES[name]}"
    for variant in report.measured:
        for row in variant.categories:
            if row.name == name:
                time = f"{format_ms(row.mean_ms)} ({format_percent(row.share)})"
                yield f"{variant.label}: {time} of each traced {unit_of(report)}; events: {row.events_per_run:g}."
        slowest = [row for row in variant.operators if row.category == name][:_MOST_OPERATORS]
        if slowest:
            listed = "; ".join(f"{row.name} {format_ms(row.mean_ms)}" for row in slowest)
            yield f"{variant.label}, slowest of them: {listed}."
    for comparison in report.comparisons:
        for shift in comparison.categories:
            if shift.name == name:
                change = sentences.format_change_ms(shift.candidate_ms - shift.baseline_ms)
                factor = f", speed-up {format_ratio(shift.speedup)}" if shift.speedup is not None else ""
                yield f"From {' to '.join(comparison.names)}: {change}{factor}."


def _explain_operators(report: Report, wanted: str) -> Iterator[str]:
    rows = {row.identity: row for variant in report.variants for row in variant.operators}
    exact = [row for row in rows.values() if wanted in (row.name.lower(), row.identity.lower())]
    found = exact or [row for row in rows.values() if wanted in row.name.lower()]
    for row in found[:_MOST_OPERATORS]:
        yield f"{row.name} ({row.identity}): {row.category}, {row.subcategory}; {_place(row)}."
        for variant in report.variants:
            yield from _explain_in_variant(variant, row.identity, unit_of(report))
        for comparison in report.comparisons:
            yield from _explain_change(comparison, row.identity)
    if len(found) > _MOST_OPERATORS:
        rest = ", ".join(row.name for row in found[_MOST_OPERATORS:])
        yield f"{len(found) - _MOST_OPERATORS} more match: {rest}."


def _place(row: OperatorRow) -> str:
    where = "run by the delegate" if row.delegated else "a portable operator, run outside of any delegate"
    return f"{where}, in the module {row.module_path}" if row.module_path else where


def _explain_in_variant(variant: VariantReport, identity: str, unit: str) -> Iterator[str]:
    for rank, row in enumerate(variant.operators, start=1):
        if row.identity == identity:
            kernels = f" Kernels seen: {sentences.kernels_text(row.kernels)}." if row.kernels else ""
            yield (
                f"{variant.label}: {format_ms(row.mean_ms)} ({format_percent(row.share)}) of each traced {unit}, "
                f"number {rank} of {len(variant.operators)}.{kernels}"
            )
    for change in variant.layout_changes:
        if change.identity == identity:
            moved = f", {format_bytes(change.bytes_moved)} moved" if change.bytes_moved is not None else ""
            yield f"{variant.label}: it only moves data ({change.kind}{moved}); cause: {change.cause or 'unknown'}."


def _explain_change(comparison: Comparison, identity: str) -> Iterator[str]:
    for change in comparison.operators:
        if identity in (change.baseline_identity, change.candidate_identity):
            factor = f", speed-up {format_ratio(change.speedup)}" if change.speedup is not None else ""
            dominant = "; newly dominant" if change.newly_dominant else ""
            moved = sentences.format_change_ms(-change.gain_ms)
            yield f"From {' to '.join(comparison.names)}: {moved}{factor}{dominant}."
