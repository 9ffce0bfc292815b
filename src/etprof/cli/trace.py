"""`etprof trace`: single ETDumps, outside of any run and with no torch installed."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_json, show_sentence, show_table
from etprof.cli.options import ByOption, CsvOption, DepthOption, JsonOption, WideOption, refuse_together
from etprof.core.units import NO_TIMES, format_count, format_ms

if TYPE_CHECKING:
    from etprof.app.traces import TraceSet
    from etprof.cli.trace_records import Records
    from etprof.core.report import OperatorChange

app = typer.Typer(no_args_is_help=True)

TracesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        help="A .etdump file, a timeline CSV, or a folder: all traces in it are taken as one experiment.",
        metavar="TRACE",
        show_default=False,
    ),
]
RulesOption = Annotated[
    Path | None,
    typer.Option("--rules", help="JSON file with category rules of your own, tried before the built-in ones."),
]
GraphOption = Annotated[
    Path | None, typer.Option("--graph", help="The model's .graph.json (etprof export writes it): names modules.")
]
TimelineOption = Annotated[
    list[Path] | None, typer.Option("--timeline-csv", help="A timeline CSV, as an option.", show_default=False)
]
EtdumpOption = Annotated[Path | None, typer.Option("--etdump", help="The same, as an option.")]
TablesOption = Annotated[Path | None, typer.Option("--output-dir", help="Write the tables there as CSV too.")]


def read(paths: Sequence[Path], rules: Path | None, graph: Path | None = None) -> "TraceSet":
    """Reads them all, and says on standard error what is to be known about them."""
    from etprof.app.traces import read_traces

    return _say_notes(read_traces(paths, rules, graph))


def _say_notes(given: "TraceSet") -> "TraceSet":
    for note in given.notes:
        say(f"note: {note}")
    return given


def _read_sides(
    paths: Sequence[Path], compare: Sequence[Path], rules: Path | None, graph: Path | None
) -> "tuple[TraceSet, TraceSet | None]":
    from etprof.app.traces import read_compared

    if not compare:
        return read(paths, rules, graph), None
    given, baseline = map(_say_notes, read_compared(paths, compare, rules, graph))
    return given, baseline.require_times()


@app.command()
def operators(
    traces: TracesArgument = None,
    timeline_csv: TimelineOption = None,
    compare: Annotated[
        list[Path] | None, typer.Option("--compare", help="The baseline to compare with.", show_default=False)
    ] = None,
    name1: Annotated[str, typer.Option("--name1", help="Name of TRACE; default: its file.")] = "",
    name2: Annotated[str, typer.Option("--name2", help="Name of the baseline; default: its file.")] = "",
    output_dir: TablesOption = None,
    top: Annotated[int, typer.Option(help="How many operators to show.", min=1)] = 15,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show all operators.")] = False,
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    rules: RulesOption = None,
    graph: GraphOption = None,
    by: ByOption = "",
    depth: DepthOption = 2,
) -> None:
    """Rank the operators of a trace by time; with --compare, show what each gained over the baseline."""
    refuse_together(csv=as_csv, json=as_json, output_dir=output_dir)
    refuse_together("--by shows groups in place of operators.", by=by, output_dir=output_dir)
    given, baseline = _read_sides([*(timeline_csv or ()), *(traces or ())], compare or (), rules, graph)
    if compare or output_dir or as_csv or as_json or by:
        given.require_times()
    name1, name2 = name1 or given.stem, name2 or (baseline.stem if baseline else "")
    if baseline:
        _doubt_names((name1, given.paths[0]), (name2, baseline.paths[0]))
    limit = None if verbose else top
    if by:
        _show_rollup((given, baseline), (name1, name2), by, depth, limit, wide=wide, as_csv=as_csv, as_json=as_json)
        return
    if as_csv or as_json:
        _print_operators(given, baseline, as_csv=as_csv)
        return
    show(f"{name1}: {given.origin}")
    _show_operators(given, limit, wide=wide)
    if output_dir:
        _write_statistics(given, output_dir)
    if baseline:
        show(f"baseline {name2}: {baseline.origin}")
        _show_changes(baseline, given, output_dir, limit, wide=wide)


def _show_operators(given: "TraceSet", limit: int | None, *, wide: bool) -> None:
    from etprof.cli import trace_tables

    if given.emulated:
        show(f"{NO_TIMES}; these operators ran")
        show_table(trace_tables.untimed_table(given, limit), wide=wide)
        return
    for table in trace_tables.operator_tables(given, limit):
        show_table(table, wide=wide)
    if given.apart:
        show_table(trace_tables.apart_table(given, limit), wide=wide)
    if given.allocations:
        show_table(trace_tables.allocation_table(given), wide=wide)
    for sentence in trace_tables.operator_sentences(given):
        show_sentence(sentence)
    _note_unmatched(given)


def _show_rollup(
    sides: "tuple[TraceSet, TraceSet | None]", names: tuple[str, str], by: str, depth: int, limit: int | None, *,
    wide: bool, as_csv: bool, as_json: bool,
) -> None:  # fmt: skip
    from etprof.analysis.operators.rollups import compare_groups, roll_up
    from etprof.cli.trace_records import rollup_change_records, rollup_records
    from etprof.reports.rollup_tables import as_text_table, build_change_table, build_table

    given, baseline = sides
    rows = roll_up(given.operators, by, depth)
    if baseline:
        changes = compare_groups(roll_up(baseline.operators, by, depth), rows)
        records = rollup_change_records(by, changes)
        title = f"baseline: {names[1]}, candidate: {names[0]}"
        table = build_change_table(title, by, changes, ("baseline", "candidate"), limit)
    else:
        records = rollup_records(by, rows)
        table = build_table(names[0], by, rows, limit)
    if as_csv or as_json:
        _print_records(records, as_csv=as_csv)
        return
    show_table(as_text_table(table), wide=wide)
    if given.graph is None:
        say("note: modules, shapes and multiply-accumulates need --graph.")


def _show_changes(
    baseline: "TraceSet", candidate: "TraceSet", output_dir: Path | None, limit: int | None, *, wide: bool
) -> None:
    from etprof.app.trace_tables import write_comparison
    from etprof.cli.trace_tables import change_tables, newly_dominant_lines

    changes = _compare(baseline, candidate)
    for table in change_tables(changes, baseline.categories, candidate.categories, limit):
        show_table(table, wide=wide)
    for line in newly_dominant_lines(changes):
        show(line)
    if output_dir:
        for path in write_comparison(output_dir, changes, baseline.categories, candidate.categories):
            show(str(path))


def _print_operators(given: "TraceSet", baseline: "TraceSet | None", *, as_csv: bool) -> None:
    from etprof.cli.trace_records import change_records, operator_records

    if baseline:
        _print_records(change_records(_compare(baseline, given), baseline, given), as_csv=as_csv)
    else:
        _print_records(operator_records(given), as_csv=as_csv)


def _compare(baseline: "TraceSet", candidate: "TraceSet") -> "tuple[OperatorChange, ...]":
    from etprof.analysis.operators.operator_changes import build_operator_changes

    return build_operator_changes(baseline.operators, candidate.operators)


def _print_records(records: "Records", *, as_csv: bool) -> None:
    if as_csv:
        show(records.render_csv().removesuffix("\n"))
    else:
        show_json({"schema_version": 1, **records.content})


def _doubt_names(*named: tuple[str, Path]) -> None:
    """Says so where a name given by hand contradicts the path of its file, as `off` for a folder called `..._on`."""
    opposites = {"on": "off", "off": "on"}
    for name, path in named:
        words = set(name.lower().replace("-", " ").replace("_", " ").split())
        parts = set(str(path).lower().replace("-", "_").replace("/", "_").replace(".", "_").split("_"))
        for word in words & opposites.keys():
            if opposites[word] in parts and word not in parts:
                say(f"note: {path} is called {name!r}, which its path contradicts.")


def _write_statistics(given: "TraceSet", folder: Path) -> None:
    from etprof.app.trace_tables import write_statistics

    for path in write_statistics(folder, given.stem, given.details, given.categories, given.nodes):
        show(str(path))


def _note_unmatched(given: "TraceSet") -> None:
    from etprof.analysis.operators.operator_statistics import find_unmatched_names

    for name in find_unmatched_names(given.traces, given.rules):
        say(f"note: no rule knows {name!r}; it counts as Other. Give it one with --rules.")


@app.command()
def categories(
    traces: TracesArgument = None,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Show where this operator name belongs.", show_default=False)
    ] = None,
    list_rules: Annotated[bool, typer.Option("--list-rules", help="Print the table of rules, in their order.")] = False,
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    rules: RulesOption = None,
) -> None:
    """Put the operators of a trace into categories and finer classes, and list names that no rule knows."""
    from etprof.cli import trace_tables
    from etprof.core.categories import categorize
    from etprof.store.rules_file import load_rules

    refuse_together(csv=as_csv, json=as_json, name=name, list_rules=list_rules)
    if as_csv or as_json:
        from etprof.cli.trace_records import category_records

        _print_records(category_records(read(traces or (), rules).require_times()), as_csv=as_csv)
        return
    table = load_rules(rules)
    for each in name or ():
        category = categorize(each, table)
        show(f"{each}: {category.name} / {category.subcategory}")
    if list_rules:
        show_table(trace_tables.rules_table(table), wide=wide)
    if traces or not (name or list_rules):
        given = read(traces or (), rules).require_times()
        show_table(trace_tables.accounting_table(given), wide=wide)
        show_table(trace_tables.classes_table(given), wide=wide)
        _note_unmatched(given)


@app.command()
def transposes(
    traces: TracesArgument = None,
    timeline_csv: TimelineOption = None,
    output_dir: TablesOption = None,
    top: Annotated[int, typer.Option(help="How many operators and pairs to show.", min=1)] = 20,
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Show transposes, copies, reshapes, pads and conversions, and the pairs of transposes that cancel."""
    from etprof.analysis.graph.data_movement import find_cancelling, list_layout_changes
    from etprof.app.trace_tables import write_layout_changes
    from etprof.cli.trace_tables import layout_table, pair_table

    refuse_together(csv=as_csv, json=as_json, output_dir=output_dir)
    given = read([*(traces or ()), *(timeline_csv or ())], rules, graph).require_times()
    changes = list_layout_changes(given.operators, given.nodes, given.graph)
    pairs = find_cancelling(given.operators, given.nodes, given.graph, given.traces[0])
    if as_csv or as_json:
        from etprof.cli.trace_records import layout_records

        _print_records(layout_records(changes, pairs), as_csv=as_csv)
        return
    show_table(layout_table(changes, top), wide=wide)
    if given.graph is None:
        say("note: bytes, modules and cancelling pairs need --graph.")
    else:
        if pairs:
            show_table(pair_table(pairs, top), wide=wide)
        saved = format_ms(sum(pair.saves_ms for pair in pairs))
        verb = "cancels" if len(pairs) == 1 else "cancel"
        show(f"{format_count(len(pairs), 'pair')} of transposes {verb}: at most {saved} of each inference.")
    if output_dir:
        for path in write_layout_changes(output_dir, given.stem, changes, pairs):
            show(str(path))


@app.command()
def timeline(
    traces: TracesArgument = None,
    etdump: EtdumpOption = None,
    output_dir: Annotated[Path | None, typer.Option(help="Where to write; default: beside each trace.")] = None,
    model_id: Annotated[
        str, typer.Option(help="What to write into the column model_id; default: the file's name.")
    ] = "",
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Write the timeline and the statistics of each TRACE as CSV; a folder's traces become one timeline."""
    from etprof.app.trace_tables import write_timelines

    # Nothing is written before all of them have been read.
    paths = (*(traces or ()), *([etdump] if etdump else ()))
    inputs = [read([path], rules, graph).require_times() for path in paths]
    for given in inputs or [read([], rules)]:
        folder = output_dir or given.paths[0].parent
        for path in write_timelines(folder, given.stem, given.traces, model_id=model_id, rules=given.rules):
            show(str(path))
        _write_statistics(given, folder)


@app.command("json")
def write_json(
    traces: TracesArgument = None,
    etdump: EtdumpOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: TRACE_ops.json beside the trace.")
    ] = None,
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Write operators, categories and accounting of one experiment's traces as JSON."""
    from etprof.app.trace_tables import write_ops_json
    from etprof.core.layout import OPS_JSON_SUFFIX

    given = read([*(traces or ()), *([etdump] if etdump else ())], rules, graph).require_times()
    path = output or given.paths[0].parent / f"{given.stem}{OPS_JSON_SUFFIX}"
    write_ops_json(path, given)
    show(str(path))
