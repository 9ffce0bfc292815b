"""`etprof transposes`: what moving data costs, and which transposes cancel each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from etprof.cli.console import err, out
from etprof.cli.operator_tables import build_table
from etprof.cli.trace_input import GraphOption, RulesOption, TracesArgument, read_input
from etprof.core.units import format_bytes, format_ms, format_percent

if TYPE_CHECKING:
    from rich.table import Table

    from etprof.analysis.transposes import CancellingPair, Movement


def command(
    traces: TracesArgument = None,
    timeline_csv: Annotated[Path | None, typer.Option("--timeline-csv", help="A timeline CSV, as an option.")] = None,
    output_dir: Annotated[Path | None, typer.Option(help="Write the tables there as CSV too.")] = None,
    top: Annotated[int, typer.Option(help="How many operators and pairs to show.", min=1)] = 20,
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Show transposes, copies, reshapes, pads and conversions, and the pairs of transposes that cancel."""
    from etprof.analysis.operators import build_operators
    from etprof.analysis.transposes import build_movements, find_pairs
    from etprof.trace_tables import write_movements

    paths = [*(traces or ()), *([timeline_csv] if timeline_csv else ())]
    given = read_input(paths, rules, graph).require_times()
    operators = build_operators(given.traces, given.rules)
    movements = build_movements(operators, given.nodes, given.graph)
    pairs = find_pairs(operators, given.nodes, given.graph, given.traces[0]) if given.graph else ()
    out.print(_movement_table(movements, top))
    if given.graph is None:
        err.print("note: without --graph no bytes, modules and cancelling pairs can be told.", markup=False)
    else:
        if pairs:
            out.print(_pair_table(pairs, top))
        saved = sum(pair.saved_ms for pair in pairs)
        out.print(f"{len(pairs)} pairs of transposes cancel: {format_ms(saved)} of each inference.", markup=False)
    if output_dir:
        for path in write_movements(output_dir, given.stem, movements, pairs):
            out.print(str(path), markup=False)


def _movement_table(movements: tuple["Movement", ...], top: int) -> "Table":
    total_ms = sum(movement.row.mean_ms for movement in movements)
    share = sum(movement.row.share for movement in movements)
    title = f"{len(movements)} operators only move data: {format_ms(total_ms)}, {format_percent(share)} of the time"
    table = build_table(
        title, ("operator", "id", "class", "cause", "module", "shape"), ("mean", "share", "bytes", "GB/s")
    )
    for movement in movements[:top]:
        row = movement.row
        texts = (row.name, row.identity, row.subcategory, movement.cause, movement.module_path, movement.shape)
        moved = format_bytes(movement.bytes_moved) if movement.bytes_moved is not None else ""
        rate = f"{movement.gb_per_s:.1f}" if movement.gb_per_s is not None else ""
        table.add_row(*(escape(t) for t in texts), format_ms(row.mean_ms), format_percent(row.share), moved, rate)
    return table


def _pair_table(pairs: tuple["CancellingPair", ...], top: int) -> "Table":
    headings = ("first", "second", "where", "between", "evidence")
    table = build_table("Transposes that undo each other", headings, ("saved",))
    for pair in pairs[:top]:
        first, second = pair.first.row, pair.second.row
        texts = (first.identity, second.identity, pair.kind, ", ".join(pair.between), pair.evidence)
        table.add_row(*(escape(t) for t in texts), format_ms(pair.saved_ms))
    return table
