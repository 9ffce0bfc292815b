"""`etprof operators`: the operators of a trace ranked by time, alone or against a baseline."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import err, out
from etprof.cli.operator_tables import (
    accounting_table,
    alignment_sentence,
    ceiling_sentence,
    operator_table,
    shift_table,
    untimed_table,
)
from etprof.cli.trace_input import GraphOption, RulesOption, TraceInput, TracesArgument, read_input
from etprof.core.run import NO_TIMES


def command(
    traces: TracesArgument = None,
    timeline_csv: Annotated[
        list[Path] | None, typer.Option("--timeline-csv", help="A timeline CSV, as an option.", show_default=False)
    ] = None,
    compare: Annotated[
        list[Path] | None, typer.Option("--compare", help="The baseline to compare with.", show_default=False)
    ] = None,
    name1: Annotated[str, typer.Option("--name1", help="Name of TRACE; default: its file.")] = "",
    name2: Annotated[str, typer.Option("--name2", help="Name of the baseline; default: its file.")] = "",
    output_dir: Annotated[Path | None, typer.Option(help="Write the tables there as CSV too.")] = None,
    top: Annotated[int, typer.Option(help="How many operators to show.", min=1)] = 15,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all operators.")] = False,
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Rank the operators of a trace by time; with --compare, say what each gained over the baseline."""
    from etprof.analysis.operators import build_operator_details, find_unmatched_names

    given = read_input([*(traces or ()), *(timeline_csv or ())], rules, graph)
    label = name1 or given.stem
    limit = None if verbose else top
    details = build_operator_details(given.traces, given.rules)
    out.print(f"{label}: {given.origin}", markup=False)
    if given.emulated:
        if compare or output_dir:
            given.require_times()
        out.print(f"{NO_TIMES}; these operators ran", markup=False)
        out.print(untimed_table(details, given.nodes, limit))
        return
    out.print(accounting_table(given.traces, given.rules))
    out.print(operator_table([d for d in details if d.row.delegated], given.nodes, "Delegated operators", limit))
    portable = [d for d in details if not d.row.delegated]
    if portable:
        share = sum(d.row.share for d in portable)
        out.print(operator_table(portable, given.nodes, f"Portable operators: {share:.1%} of the time", limit))
    out.print(ceiling_sentence(given.traces, given.rules, details), markup=False)
    if given.alignments:
        out.print(alignment_sentence(given.alignments), markup=False)
    for name in find_unmatched_names(given.traces, given.rules):
        err.print(f"note: no rule knows {name!r}; it counts as Other. Give it one with --rules.", markup=False)
    if output_dir:
        _write_tables(given, output_dir)
    if compare:
        _compare(given, read_input(compare, rules).require_times(), (label, name2), output_dir, limit)


def _compare(
    candidate: TraceInput, baseline: TraceInput, names: tuple[str, str], output_dir: Path | None, limit: int | None
) -> None:
    from etprof.analysis.accounting import build_categories
    from etprof.analysis.operator_shift import build_operator_shifts
    from etprof.analysis.operators import build_operators
    from etprof.trace_tables import write_comparison

    label, baseline_label = names[0], names[1] or baseline.stem
    _doubt_names((label, candidate.paths[0]), (baseline_label, baseline.paths[0]))
    out.print(f"baseline {baseline_label}: {baseline.origin}", markup=False)
    before, after = (build_categories(given.traces, given.rules) for given in (baseline, candidate))
    shifts = build_operator_shifts(
        build_operators(baseline.traces, baseline.rules), build_operators(candidate.traces, candidate.rules)
    )
    for table in shift_table(shifts, before, after, (baseline_label, label), limit):
        out.print(table)
    if output_dir:
        for path in write_comparison(output_dir, shifts, before, after):
            out.print(str(path), markup=False)


def _doubt_names(*named: tuple[str, Path]) -> None:
    """Says so where a name given by hand contradicts the path of its file, as `off` for a folder called `..._on`."""
    opposites = {"on": "off", "off": "on"}
    for name, path in named:
        words = set(name.lower().replace("-", " ").replace("_", " ").split())
        parts = set(str(path).lower().replace("-", "_").replace("/", "_").replace(".", "_").split("_"))
        for word in words & opposites.keys():
            if opposites[word] in parts and word not in parts:
                err.print(f"note: {path} is called {name!r}, which its path contradicts.", markup=False)


def _write_tables(given: TraceInput, folder: Path) -> None:
    from etprof.trace_tables import write_statistics

    for path in write_statistics(folder, given.stem, given.traces, rules=given.rules, nodes=given.nodes):
        out.print(str(path), markup=False)
