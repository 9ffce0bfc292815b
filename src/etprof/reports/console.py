"""The report on a terminal: the verdict, where the time goes, and what to doubt."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from etprof.core.exploration import Choice
from etprof.core.findings import group_findings
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.scaling import Scaling
from etprof.core.units import format_ms, format_percent, format_ratio
from etprof.reports import (
    choice_tables,
    kernel_explanation,
    memory_tables,
    phase_tables,
    program_tables,
    roofline_tables,
    sentences,
    thread_tables,
)
from etprof.reports.forecast_tables import render_text as render_forecast
from etprof.reports.rollup_tables import RollupTable, as_text_table, build_change_table, build_table
from etprof.reports.sample_places import evidence_sentence
from etprof.reports.text_table import Column, TextTable, render_table, wrap

# What a pipe and most terminals have.
_WIDTH = 80
_STEPS = 3
_KINDS = 8
_MORE = "a wider terminal shows all"


def render(report: Report, width: int | None = _WIDTH) -> str:
    """Tables and sentences for a terminal of this width; None for tables of any width."""
    parts = [part for part in _parts(report, width) if part]
    return "\n".join(parts).rstrip("\n") + "\n"


def _parts(report: Report, width: int | None) -> Iterator[str]:
    """Tables, and paragraphs of sentences; each ends with a line break. The order is that of the page."""
    if not report.times_are_real:
        yield _paragraph([sentences.EMULATED], width)
    yield from _choice_parts(report.choice, width) if report.choice else _measured_parts(report, width)
    yield _paragraph(_next_steps(report), width)
    if report.scaling and not report.choice:
        yield from _scaling_parts(report.scaling, width)
    kinds = () if report.choice else list_rollups(report, "kind", _KINDS)
    yield from (render_table(as_text_table(table, phase_tables.unit_of(report)), width) for table in kinds)
    rooflines = () if report.choice else roofline_tables.list_shown(report)
    yield _paragraph((roofline_tables.roofline_sentence(label, roofline) for label, roofline in rooflines), width)
    if not report.choice:
        yield from (render_table(table, width) for table in memory_tables.list_short_tables(report))
        yield _paragraph(memory_tables.list_sentences(report), width)
    if report.forecast:
        yield render_forecast(report.forecast, width)
    yield _paragraph((f"{v.label}: {evidence_sentence(v.evidence)}" for v in report.variants if v.evidence), width)
    if report.explanation:
        yield _paragraph(kernel_explanation.list_checks(report.explanation), width)
    groups = group_findings(report.findings)
    yield _paragraph((f"finding: {sentences.finding_sentence(group)}" for group in groups), width)


def _measured_parts(report: Report, width: int | None) -> Iterator[str]:
    """The verdicts, the latencies, whether to trust them, and where the time goes."""
    compared = report.comparisons
    said = (
        (sentences.verdict_sentence(c), sentences.noise_sentence(c), sentences.medians_sentence(c, report))
        for c in compared
    )
    yield _paragraph((each for parts in said for each in parts), width) if compared else ""
    yield _latencies(report, width)
    if report.compares_programs:
        yield render_table(program_tables.as_text_table(program_tables.build_table(report)), width)
        yield _paragraph(program_tables.list_sentences(report), width)
    if report.phases:
        yield from _phase_parts(report, width)
    unit = phase_tables.unit_of(report)
    if not compared:
        yield from (render_table(_variant_table(each, unit), width) for each in report.measured if each.categories)
        yield _paragraph([sentences.NO_PAIR], width)
    yield _paragraph([sentences.trust_sentence(report)], width)
    for comparison in compared:
        yield render_table(_category_table(comparison, unit), width) if comparison.categories else ""
        modules = sentences.modules_sentence(comparison)
        time = (sentences.bottleneck_sentence(comparison), sentences.slower_sentence(comparison))
        yield _paragraph([*time, f"Modules: {modules}" if modules else ""], width)


def _phase_parts(report: Report, width: int | None) -> Iterator[str]:
    table = phase_tables.build_table(report, most=phase_tables.MOST_PHASES)
    yield render_table(phase_tables.as_text_table(table), width) if table.rows else ""
    yield _paragraph(phase_tables.list_all(report), width)


def _latencies(report: Report, width: int | None) -> str:
    """A row for each timed variant, and a sentence for each of the others."""
    timed = [(variant.label, variant.latency) for variant in report.variants if variant.latency]
    columns = [
        Column("variant", [label for label, _ in timed]),
        Column("median", [format_ms(latency.median_ms) for _, latency in timed], right=True),
        Column("MAD", [format_ms(latency.mad_ms) for _, latency in timed], 3, right=True),
        Column("p5", [format_ms(latency.p5_ms) for _, latency in timed], 1, right=True),
        Column("p95", [format_ms(latency.p95_ms) for _, latency in timed], 1, right=True),
        Column("iterations", [f"{latency.samples} in {latency.blocks}" for _, latency in timed], 2, right=True),
    ]
    title = f"Latency ({sentences.timing_mode(report.variants)} iterations in blocks)"
    missing = [v for v in report.measured if v.latency is None]
    table = render_table(TextTable(title, columns, more=_MORE), width) if timed else ""
    return table + _paragraph((f"{v.label}: {sentences.missing_latency(v, report)}" for v in missing), width)


def _choice_parts(choice: Choice, width: int | None) -> Iterator[str]:
    """What there is of each build besides is in the files."""
    yield render_table(replace(choice_tables.as_text_table(choice_tables.build_table(choice)), more=_MORE), width)
    yield _paragraph(choice_tables.list_reasons(choice), width)
    if choice.layers:
        yield render_table(choice_tables.as_text_table(choice_tables.build_layer_table(choice)), width)
    yield _paragraph(choice_tables.list_answers(choice), width)


def _scaling_parts(scaling: Scaling, width: int | None) -> Iterator[str]:
    yield from (render_table(thread_tables.as_text_table(t), width) for t in thread_tables.build_thread_tables(scaling))
    yield _paragraph(thread_tables.list_all(scaling), width)


def list_rollups(report: Report, by: str, most: int | None) -> Iterator[RollupTable]:
    """Operators in groups, a table for each comparison, or for each variant where nothing is compared."""
    compared = [comparison for comparison in report.comparisons if by in comparison.rollups]
    for comparison in compared:
        names = dict(zip(("baseline", "candidate"), comparison.names, strict=True))
        title = ", ".join(f"{side}: {name}" for side, name in names.items())
        title = comparison.title if len(compared) > 1 else title
        yield build_change_table(title, by, comparison.rollups[by], ("baseline", "candidate"), most)
    for variant in () if compared else report.measured:
        if by in variant.rollups:
            yield build_table(variant.label, by, variant.rollups[by], most)


def _next_steps(report: Report) -> Iterator[str]:
    if not report.next_steps and any(variant.operators for variant in report.to_improve):
        yield sentences.no_steps_sentence(report)
    several = len({step.variant for step in report.next_steps}) > 1
    for number, step in enumerate(report.next_steps[:_STEPS], start=1):
        of_variant = f" ({step.variant.label})" if several else ""
        yield f"next step {number}{of_variant}: {step.title}: {sentences.gain_sentence(step)}."


def _paragraph(said: Iterable[str], width: int | None) -> str:
    """Each sentence on lines of its own; the lines after its first are indented."""
    return "".join(f"{wrap(each, width or _WIDTH, '  ')}\n" for each in said if each)


def _variant_table(variant: VariantReport, unit: str) -> TextTable:
    rows = variant.categories
    columns = [
        Column("category", [row.name for row in rows]),
        Column("time", [format_ms(row.mean_ms) for row in rows], right=True),
        Column("share", [format_percent(row.share) for row in rows], right=True),
    ]
    return TextTable(f"Where the time of {variant.label} goes (traced, per {unit})", columns)


def _category_table(comparison: Comparison, unit: str) -> TextTable:
    baseline, candidate = comparison.names
    rows = comparison.categories
    before, after = sum(row.baseline_ms for row in rows), sum(row.candidate_ms for row in rows)
    speedups = [format_ratio(row.speedup) if row.speedup is not None else "n/a" for row in rows]
    columns = [
        Column("category", [*(row.name for row in rows), "end to end"]),
        Column("baseline", [*(format_ms(row.baseline_ms) for row in rows), format_ms(before)], right=True),
        Column("share", [*(format_percent(row.baseline_share) for row in rows), ""], right=True),
        Column("candidate", [*(format_ms(row.candidate_ms) for row in rows), format_ms(after)], right=True),
        Column("share", [*(format_percent(row.candidate_share) for row in rows), ""], right=True),
        Column("speed-up", [*speedups, format_ratio(before / after) if after else "n/a"], right=True),
    ]
    title = f"Where the time goes (traced, per {unit}); baseline: {baseline}, candidate: {candidate}"
    return TextTable(title, columns, totals=1)
