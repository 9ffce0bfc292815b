"""The tables and sentences of the trace commands on a terminal."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from etprof.core.units import format_ms, format_ns, format_percent, format_ratio

if TYPE_CHECKING:
    from etprof.analysis.alignment import Alignment
    from etprof.analysis.categories import Rule
    from etprof.analysis.model_graph import GraphNode
    from etprof.analysis.operator_shift import OperatorShift
    from etprof.analysis.operators import OperatorDetail
    from etprof.core.report import CategoryRow, OperatorRow
    from etprof.core.trace import Trace


def build_table(title: str, left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in left:
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def accounting_table(traces: Sequence["Trace"], rules: Sequence["Rule"]) -> Table:
    """Every part of an inference, adding up to the whole."""
    from etprof.analysis.accounting import build_accounting, build_categories
    from etprof.analysis.operator_shift import build_ceilings

    accounting, cold = build_accounting(traces), build_accounting(traces, cold=True)
    title = f"Where the time goes: {accounting.runs} steady inferences"
    if cold.runs:
        title += f"; the first took {format_ns(cold.end_to_end_ns / cold.runs)}"
    if accounting.setup_ns:
        title += f"; load and init {format_ns(accounting.setup_ns / len(traces))}"
    table = build_table(title, ("category",), ("per inference", "share", "operators", "if it were free"))
    rows = build_categories(traces, rules)
    for row, ceiling in zip(rows, build_ceilings(rows, ()), strict=True):
        free = format_ratio(ceiling.speedup) if ceiling.speedup else "n/a"
        operators = f"{row.events_per_run:g}" if row.events_per_run else ""
        table.add_row(escape(row.name), format_ms(row.mean_ms), format_percent(row.share), operators, free)
    table.add_section()
    table.add_row("end to end", format_ms(accounting.per_run_ms(accounting.end_to_end_ns)), "100.0 %", "", "")
    return table


def operator_table(
    details: Sequence["OperatorDetail"], nodes: Mapping[str, "GraphNode"], title: str, limit: int | None
) -> Table:
    from etprof.analysis.operator_shift import build_ceilings

    left = ["operator", "id", "category", "type"] + (["module"] if nodes else [])
    shown = details[:limit]
    title += f" ({len(shown)} of {len(details)})" if len(shown) < len(details) else f" ({len(details)})"
    table = build_table(title, left, ("mean", "median", "share", "if it were free"))
    for detail, ceiling in zip(shown, build_ceilings((), [detail.row for detail in shown]), strict=True):
        row = detail.row
        texts = [row.name, row.identity, f"{row.category} / {row.subcategory}", detail.data_type]
        if nodes:
            texts.append(_module(nodes, row.identity))
        free = format_ratio(ceiling.speedup) if ceiling.speedup else "n/a"
        times = (format_ms(row.mean_ms), format_ms(row.median_ms), format_percent(row.share), free)
        table.add_row(*(escape(text) for text in texts), *times)
    return table


def untimed_table(details: Sequence["OperatorDetail"], nodes: Mapping[str, "GraphNode"], limit: int | None) -> Table:
    """Operators in the order of their calls, with nothing that depends on time."""
    shown = sorted(details, key=lambda detail: _call_order(detail.row))[:limit]
    table = build_table(
        f"{len(shown)} of {len(details)} operators",
        ["operator", "id", "category", "type", "where", *(["module"] if nodes else [])],
        (),
    )
    for detail in shown:
        row = detail.row
        where = "delegated" if row.delegated else "portable"
        texts = [row.name, row.identity, f"{row.category} / {row.subcategory}", detail.data_type, where]
        if nodes:
            texts.append(_module(nodes, row.identity))
        table.add_row(*(escape(text) for text in texts))
    return table


def _call_order(row: "OperatorRow") -> tuple[bool, list[int]]:
    return not row.delegated, [int(number) for number in re.findall(r"\d+", row.identity)]


def _module(nodes: Mapping[str, "GraphNode"], identity: str) -> str:
    return nodes[identity].module_path if identity in nodes else "(unmapped)"


def ceiling_sentence(traces: Sequence["Trace"], rules: Sequence["Rule"], details: Sequence["OperatorDetail"]) -> str:
    """Amdahl's bound for Data Movement and for the longest operator."""
    from etprof.analysis.accounting import build_categories
    from etprof.analysis.categories import DATA_MOVEMENT
    from etprof.analysis.operator_shift import build_ceilings

    movement = [row for row in build_categories(traces, rules) if row.name == DATA_MOVEMENT]
    ceilings = build_ceilings(movement, [detail.row for detail in details[:1]])
    return "\n".join(
        f"If {ceiling.part} were free, the model would be at most {format_ratio(ceiling.speedup)} as fast."
        for ceiling in ceilings
        if ceiling.speedup
    )


def alignment_sentence(alignments: Sequence["Alignment"]) -> str:
    total = sum(len(alignment.nodes) for alignment in alignments)
    mapped = sum(alignment.mapped for alignment in alignments)
    doubtful = [alignment for alignment in alignments if alignment.confidence != "exact"]
    text = f"{mapped} of {total} operators are mapped to the graph."
    for alignment in doubtful:
        reason = "the graph does not fit" if alignment.confidence == "none" else "several nodes are possible"
        text += f"\nIn {alignment.where} {len(alignment.nodes) - alignment.mapped} are unmapped: {reason}."
    return text


def shift_table(
    shifts: Sequence["OperatorShift"],
    before: Sequence["CategoryRow"],
    after: Sequence["CategoryRow"],
    labels: tuple[str, str],
    limit: int | None,
) -> Iterator[Table | str]:
    """Categories and operators before and after, and what dominates now."""
    whole_before, whole_after = (sum(row.mean_ms for row in rows) for rows in (before, after))
    gain_ms = whole_before - whole_after
    headings = (*labels, "share", "share", "speed-up", "of the gain")
    table = build_table("Categories, baseline against candidate", ("category",), headings)
    later = {row.name: row for row in after}
    for row in before:
        new = later.get(row.name)
        if new is not None:
            table.add_row(escape(row.name), *_shift_cells(row, new, gain_ms))
    table.add_section()
    ratio = format_ratio(whole_before / whole_after) if whole_after else "n/a"
    table.add_row("end to end (traced)", format_ms(whole_before), format_ms(whole_after), "", "", ratio, "")
    yield table
    table = build_table("Operators, largest gain first", ("operator", "id", "now"), headings)
    for shift in shifts[:limit]:
        cells = _shift_cells(shift.baseline, shift.candidate, gain_ms)
        now = "newly dominant" if shift.newly_dominant else ""
        table.add_row(escape(shift.row.name), shift.row.identity, now, *cells)
    yield table
    dominant = [shift.row.name for shift in shifts if shift.newly_dominant]
    yield f"Newly dominant: {escape(', '.join(dominant))}." if dominant else "No operator newly dominates."


def _shift_cells(
    before: "CategoryRow | OperatorRow | None", after: "CategoryRow | OperatorRow | None", gain_ms: float
) -> tuple[str, ...]:
    def ms(row: "CategoryRow | OperatorRow | None") -> str:
        return format_ms(row.mean_ms) if row else ""

    def share(row: "CategoryRow | OperatorRow | None") -> str:
        return format_percent(row.share) if row else ""

    own_gain = (before.mean_ms if before else 0.0) - (after.mean_ms if after else 0.0)
    ratio = format_ratio(before.mean_ms / after.mean_ms) if before and after and after.mean_ms > 0 else "n/a"
    part = format_percent(own_gain / gain_ms) if gain_ms else "n/a"
    return ms(before), ms(after), share(before), share(after), ratio, part
