"""`etprof trace`: single ETDumps, outside of any run and with no torch installed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show, show_json, show_sentence, show_table
from etprof.cli.options import ByOption, CsvOption, DepthOption, JsonOption, WideOption, refuse_together
from etprof.cli.trace_latency import latency
from etprof.cli.trace_options import (
    CompareOption,
    GraphOption,
    RulesOption,
    TablesOption,
    TimelineOption,
    TracesArgument,
    read,
    read_sides,
)
from etprof.cli.trace_writing import timeline, write_json, write_tables
from etprof.core.errors import UsageError
from etprof.core.units import NO_TIMES, format_count, format_ms

if TYPE_CHECKING:
    from etprof.app.traces import TraceSet
    from etprof.cli.trace_records import Records
    from etprof.core.report import OperatorChange

app = typer.Typer(no_args_is_help=True)


@app.command()
def operators(
    traces: TracesArgument = None,
    timeline_csv: TimelineOption = None,
    compare: CompareOption = None,
    name1: Annotated[str, typer.Option("--name1", help="Name of TRACE; default: its file.")] = "",
    name2: Annotated[str, typer.Option("--name2", help="Name of the baseline; default: its file.")] = "",
    model_name: Annotated[str, typer.Option(help="Name of the model, printed above the tables.")] = "",
    output_dir: TablesOption = None,
    top: Annotated[int, typer.Option(help="How many operators to show.", min=1)] = 15,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show all operators.")] = False,
    wide: WideOption = False,
    as_csv: CsvOption = False,
    as_json: JsonOption = False,
    rules: RulesOption = None,
    graph: GraphOption = None,
    by: ByOption = "",
    depth: DepthOption = 2,
) -> None:
    """Rank the operators of a trace by time; with --compare, show what each gained over the baseline.

    Traces of several thread counts are compared with the baseline's of the same count.
    """
    refuse_together(csv=as_csv, json=as_json, output_dir=output_dir)
    refuse_together("--by shows groups in place of operators.", by=by, output_dir=output_dir)
    pairs = read_sides([*(timeline_csv or ()), *(traces or ())], compare or (), rules, graph)
    if len(pairs) > 1 and (as_csv or as_json):
        raise UsageError(
            "--csv and --json print one comparison; these are several thread counts.",
            hint="Name the traces of one thread count, or use --output-dir.",
        )
    named = [(sides, (name1 or sides[0].stem, name2 or (sides[1].stem if sides[1] else ""))) for sides in pairs]
    for (given, baseline), names in named:
        if compare or output_dir or as_csv or as_json or by:
            given.require_times()
        if baseline:
            _doubt_names((names[0], given.paths[0]), (names[1], baseline.paths[0]))
    if model_name and not (as_csv or as_json):
        show(f"model: {model_name}")
    limit = None if verbose else top
    for sides, names in named:
        if by:
            _show_rollup(sides, names, by, depth, limit, wide=wide, as_csv=as_csv, as_json=as_json)
        elif as_csv or as_json:
            _print_operators(*sides, as_csv=as_csv)
        else:
            prefix = f"{sides[0].stem}_" if len(pairs) > 1 else ""
            _show_pair(sides, names, output_dir, limit, prefix, wide=wide)


def _show_pair(
    sides: "tuple[TraceSet, TraceSet | None]", names: tuple[str, str], output_dir: Path | None, limit: int | None,
    prefix: str, *, wide: bool,
) -> None:  # fmt: skip
    given, baseline = sides
    show(f"{names[0]}: {given.origin}")
    _show_operators(given, limit, wide=wide)
    if output_dir:
        for path in write_tables(given, output_dir):
            show(str(path))
    if baseline:
        show(f"baseline {names[1]}: {baseline.origin}")
        _show_changes(baseline, given, output_dir, limit, prefix, wide=wide)


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
    baseline: "TraceSet", candidate: "TraceSet", output_dir: Path | None, limit: int | None, prefix: str, *, wide: bool
) -> None:
    from etprof.app.trace_tables import write_comparison
    from etprof.cli.trace_tables import change_tables, newly_dominant_lines

    changes = _compare(baseline, candidate)
    for table in change_tables(changes, baseline.categories, candidate.categories, limit):
        show_table(table, wide=wide)
    for line in newly_dominant_lines(changes):
        show(line)
    if output_dir:
        for path in write_comparison(output_dir, changes, baseline.categories, candidate.categories, prefix):
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


app.command()(timeline)
app.command("json")(write_json)
app.command()(latency)
