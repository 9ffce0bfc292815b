"""The tables and sentences of `etprof trace`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from etprof.analysis.operators.accounting import build_accounting
from etprof.analysis.operators.ceilings import build_ceilings
from etprof.app.trace_tables import build_classes
from etprof.core.categories import DATA_MOVEMENT, Rule
from etprof.core.report import CancellingPair, LayoutChange, OperatorChange
from etprof.core.rows import CategoryRow, OperatorRow
from etprof.core.units import format_bytes, format_macs, format_ms, format_ns, format_percent, format_rate, format_ratio
from etprof.reports.sentences import apart_value
from etprof.reports.text_table import Column, TextTable

if TYPE_CHECKING:
    from etprof.analysis.operators.operator_statistics import OperatorDetail
    from etprof.app.traces import TraceSet


def accounting_table(given: "TraceSet") -> TextTable:
    """Every part of an inference, adding up to the whole."""
    accounting, cold = given.accounting, build_accounting(given.traces, cold=True)
    title = f"Where the time goes: {accounting.runs} steady inferences"
    if cold.runs:
        title += f"; the first took {format_ns(cold.end_to_end_ns / cold.runs)}"
    if accounting.setup_ns:
        title += f"; load and init {format_ns(accounting.setup_ns / len(given.traces))}"
    rows = given.categories
    free = [format_ratio(each.speedup) if each.speedup else "n/a" for each in build_ceilings(rows, ())]
    whole = format_ms(accounting.per_run_ms(accounting.end_to_end_ns))
    counts = [f"{row.events_per_run:g}" if row.events_per_run else "" for row in rows]
    columns = [
        Column("category", [*(row.name for row in rows), "end to end"]),
        Column("per inference", [*(format_ms(row.mean_ms) for row in rows), whole], right=True),
        Column("share", [*(format_percent(row.share) for row in rows), "100.0 %"], right=True),
        Column("operators", [*counts, ""], 1, right=True),
        Column("if it were free", [*free, ""], 2, right=True),
    ]
    return TextTable(title, columns, totals=1)


def operator_tables(given: "TraceSet", limit: int | None) -> Iterator[TextTable]:
    yield accounting_table(given)
    delegated = [d for d in given.details if d.row.delegated]
    portable = [d for d in given.details if not d.row.delegated]
    if delegated:
        yield _operator_table(given, delegated, "Delegated operators", limit)
    if portable:
        share = sum(d.row.share for d in portable)
        yield _operator_table(given, portable, f"Portable operators: {format_percent(share)} of the time", limit)


def _operator_table(given: "TraceSet", details: Sequence["OperatorDetail"], title: str, limit: int | None) -> TextTable:
    shown = details[:limit]
    rows = [detail.row for detail in shown]
    title += f" ({len(shown)} of {len(details)})" if len(shown) < len(details) else f" ({len(details)})"
    free = [format_ratio(each.speedup) if each.speedup else "n/a" for each in build_ceilings((), rows)]
    columns = [
        *_names_of(given, shown),
        Column("mean", [format_ms(row.mean_ms) for row in rows], right=True),
        Column("median", [format_ms(row.median_ms) for row in rows], 8, right=True),
        Column("share", [format_percent(row.share) for row in rows], 2, right=True),
        Column("if it were free", free, 10, right=True),
        *(_work_columns(rows) if given.nodes else ()),
    ]
    return TextTable(title, columns)


def _work_columns(rows: Sequence[OperatorRow]) -> list[Column]:
    works = [row.work for row in rows]
    return [
        Column("MACs", [format_macs(work.macs) if work else "" for work in works], 6, right=True),
        Column("GMAC/s", [format_rate(row.gmac_per_s) for row in rows], 4, right=True),
        Column("shapes", [work.shapes if work else "" for work in works], 9),
    ]


def _names_of(given: "TraceSet", details: Sequence["OperatorDetail"]) -> list[Column]:
    rows = [detail.row for detail in details]
    modules = [_place(row) if row.identity in given.nodes else "(unmapped)" for row in rows]
    # Where modules are known, they and the kind of layer tell more than a name that many operators share.
    return [
        Column("operator", [row.name for row in rows], 5 if given.nodes else 0),
        Column("id", [row.identity for row in rows]),
        Column("category", [f"{row.category} / {row.subcategory}" for row in rows], 9),
        Column("type", [detail.data_type for detail in details], 7),
        *([Column("module", modules, 1), Column("kind", [row.kind for row in rows], 3)] if given.nodes else []),
    ]


def apart_table(given: "TraceSet", limit: int | None) -> TextTable:
    """Delegates' events that are in no sum."""
    shown = given.apart[:limit]
    title = "Events of delegates that are not added up"
    title += f" ({len(shown)} of {len(given.apart)})" if len(shown) < len(given.apart) else f" ({len(shown)})"
    return TextTable(
        title,
        [
            Column("event", [row.name for row in shown]),
            Column("id", [row.identity for row in shown]),
            Column("why", [row.reason for row in shown]),
            Column("mean", [apart_value(row) for row in shown], right=True),
            Column("metadata", [row.metadata for row in shown], 1),
        ],
    )


def allocation_table(given: "TraceSet") -> TextTable:
    rows = given.allocations
    return TextTable(
        "Memory taken from the runtime's allocators",
        [
            Column("allocator", [row.allocator for row in rows]),
            Column("per inference", [format_bytes(round(row.bytes_per_inference)) for row in rows], right=True),
            Column("allocations", [f"{row.allocations_per_inference:g}" for row in rows], right=True),
            Column("outside inferences", [format_bytes(row.bytes_outside) for row in rows], right=True),
        ],
    )


def _place(row: "OperatorRow | OperatorChange") -> str:
    """The module, or what an operator is that belongs to none."""
    return row.module_path or f"({row.kind})"


def untimed_table(given: "TraceSet", limit: int | None) -> TextTable:
    """Operators in the order of their calls, with nothing that depends on time."""
    shown = sorted(given.details, key=lambda detail: (not detail.row.delegated, detail.row.identity.order))[:limit]
    where = Column("where", ["delegated" if d.row.delegated else "portable" for d in shown], 1)
    return TextTable(f"{len(shown)} of {len(given.details)} operators", [*_names_of(given, shown), where])


def operator_sentences(given: "TraceSet") -> Iterator[str]:
    """Amdahl's bound for Data Movement and for the longest operator, and how far the graph explains the operators."""
    movement = [row for row in given.categories if row.name == DATA_MOVEMENT]
    for ceiling in build_ceilings(movement, given.operators[:1]):
        if ceiling.speedup:
            yield f"If {ceiling.part} were free: at most {format_ratio(ceiling.speedup)} overall."
    if not given.alignments:
        return
    total = sum(len(alignment.nodes) for alignment in given.alignments)
    mapped = sum(alignment.mapped for alignment in given.alignments)
    yield f"{mapped} of {total} operators are mapped to the graph."
    for alignment in given.alignments:
        if alignment.confidence != "exact":
            reason = "the graph does not fit" if alignment.confidence == "none" else "several nodes are possible"
            yield f"In {alignment.where} {len(alignment.nodes) - alignment.mapped} are unmapped: {reason}."


def change_tables(
    changes: Sequence[OperatorChange], before: Sequence[CategoryRow], after: Sequence[CategoryRow], limit: int | None
) -> Iterator[TextTable]:
    """Categories and operators before and after."""
    whole = [sum(row.mean_ms for row in rows) for rows in (before, after)]
    gain_ms = whole[0] - whole[1]
    later = {row.name: row for row in after}
    rows = [(row, later[row.name]) for row in before if row.name in later]
    cells = [(b.mean_ms, a.mean_ms, b.share, a.share) for b, a in rows]
    yield TextTable(
        "Categories, candidate against baseline",
        [
            Column("category", [*(row.name for row, _ in rows), "end to end (traced)"]),
            *_change_columns([*cells, (whole[0], whole[1], None, None)], gain_ms),
        ],
        totals=1,
    )
    shown = changes[:limit]
    has_modules = any(change.module_path for change in changes)
    cells_of_operators = [(c.baseline_ms, c.candidate_ms, c.baseline_share, c.candidate_share) for c in shown]
    yield TextTable(
        "Operators, largest gain first",
        [
            Column("operator", [change.name for change in shown], 1 if has_modules else 0),
            Column("id", [change.identity for change in shown], 0 if has_modules else 1),
            *([Column("module", [_place(change) for change in shown])] if has_modules else []),
            *([Column("kind", [change.kind for change in shown], 2)] if has_modules else []),
            Column("now", ["newly dominant" if change.newly_dominant else "" for change in shown], 5),
            *_change_columns(cells_of_operators, gain_ms),
        ],
    )


def _change_columns(
    cells: Sequence[tuple[float | None, float | None, float | None, float | None]],
    gain_ms: float,
) -> list[Column]:
    def gained(before: float | None, after: float | None) -> str:
        return format_percent(((before or 0.0) - (after or 0.0)) / gain_ms) if gain_ms else "n/a"

    return [
        Column("baseline", [_ms(before) for before, _, _, _ in cells], right=True),
        Column("candidate", [_ms(after) for _, after, _, _ in cells], right=True),
        Column("baseline share", [_share(share) for _, _, share, _ in cells], 3, right=True),
        Column("candidate share", [_share(share) for _, _, _, share in cells], 3, right=True),
        Column("speed-up", [format_ratio(b / a) if b and a else "n/a" for b, a, _, _ in cells], right=True),
        Column("of the gain", [gained(b, a) for b, a, _, _ in cells], 2, right=True),
    ]


def _ms(value: float | None) -> str:
    return "" if value is None else format_ms(value)


def _share(value: float | None) -> str:
    return "" if value is None else format_percent(value)


def newly_dominant_lines(changes: Sequence[OperatorChange]) -> Iterator[str]:
    dominant = [change for change in changes if change.newly_dominant]
    yield "Newly dominant:" if dominant else "No operator newly dominates."
    yield from (f"  {change.name} [{change.identity}]" for change in dominant)


def rules_table(rules: Sequence[Rule]) -> TextTable:
    return TextTable(
        "The first rule that matches decides",
        [
            Column("category", [rule.category for rule in rules]),
            Column("class", [rule.subcategory for rule in rules]),
            Column("pattern", [rule.pattern for rule in rules]),
        ],
    )


def classes_table(given: "TraceSet") -> TextTable:
    rows = build_classes(given)
    return TextTable(
        "Finer classes",
        [
            Column("category", [category for category, _ in rows]),
            Column("class", [row.name for _, row in rows]),
            Column("operators", [f"{row.events_per_run:g}" for _, row in rows], 1, right=True),
            Column("per inference", [format_ms(row.mean_ms) for _, row in rows], right=True),
            Column("share", [format_percent(row.share) for _, row in rows], right=True),
        ],
    )


def layout_table(changes: Sequence[LayoutChange], top: int) -> TextTable:
    total_ms, share = sum(change.mean_ms for change in changes), sum(change.share for change in changes)
    shown = changes[:top]
    moved = [format_bytes(change.bytes_moved) if change.bytes_moved is not None else "" for change in shown]
    return TextTable(
        f"{len(changes)} operators only move data: {format_ms(total_ms)}, {format_percent(share)} of the time",
        [
            Column("operator", [change.name for change in shown]),
            Column("id", [change.identity for change in shown]),
            Column("class", [change.kind for change in shown], 5),
            Column("mean", [format_ms(change.mean_ms) for change in shown], right=True),
            Column("share", [format_percent(change.share) for change in shown], 1, right=True),
            Column("bytes", moved, 3, right=True),
            Column("GB/s", [f"{c.gb_per_s:.1f}" if c.gb_per_s is not None else "" for c in shown], 3, right=True),
            Column("shape", [change.shape for change in shown], 5),
            Column("cause", [change.cause for change in shown], 4),
            Column("module", [change.module_path for change in shown], 2),
        ],
    )


def pair_table(pairs: Sequence[CancellingPair], top: int) -> TextTable:
    shown = pairs[:top]
    return TextTable(
        "Transposes that undo each other",
        [
            Column("first", [pair.first.identity for pair in shown]),
            Column("second", [pair.second.identity for pair in shown]),
            Column("saved", [format_ms(pair.saves_ms) for pair in shown], right=True),
            Column("where", [pair.kind for pair in shown], 1),
            Column("evidence", [pair.evidence for pair in shown], 3),
            Column("between", [", ".join(pair.between) for pair in shown], 2),
        ],
    )
