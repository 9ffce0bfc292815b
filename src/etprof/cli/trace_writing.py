"""`etprof trace timeline` and `etprof trace json`: what they are asked for goes to files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say, show
from etprof.cli.trace_options import EtdumpOption, GraphOption, RulesOption, TracesArgument, read
from etprof.core.errors import UsageError

if TYPE_CHECKING:
    from etprof.app.traces import TraceSet


def timeline(
    traces: TracesArgument = None,
    etdump: EtdumpOption = None,
    output_dir: Annotated[
        Path | None, typer.Option("--output-dir", "--out-dir", help="Where to write; default: beside each trace.")
    ] = None,
    model_id: Annotated[
        str, typer.Option(help="What to write into the column model_id; default: the file's name.")
    ] = "",
    run_index: Annotated[
        int, typer.Option(min=0, help="The inference that gets a timeline of its own, counted from 0.")
    ] = 0,
    all_runs: Annotated[
        bool, typer.Option("--all-runs", help="All inferences, and the first one alone, whatever --run-index says.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write each timeline and the operators as JSON too.")] = False,
    etrecord: Annotated[
        Path | None, typer.Option(help="An exported model's .etrecord: the .graph.json beside it names modules.")
    ] = None,
    strict_etrecord: Annotated[
        bool, typer.Option("--strict-etrecord", help="Fail where there is no .graph.json beside the .etrecord.")
    ] = False,
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Write the timeline and the statistics of each TRACE as CSV; a folder's traces become one timeline."""
    from etprof.app.trace_tables import write_timelines
    from etprof.store.timeline_files import save_as_json

    # Nothing is written before all of them have been read.
    paths = (*(traces or ()), *([etdump] if etdump else ()))
    graph = graph or (_find_graph(etrecord, strict=strict_etrecord) if etrecord else None)
    inputs = [read([path], rules, graph).require_times() for path in paths]
    run = 0 if all_runs else run_index
    for given in inputs or [read([], rules)]:
        folder = output_dir or given.paths[0].parent
        every, one = write_timelines(folder, given.stem, given.traces, model_id=model_id, rules=given.rules, run=run)
        tables = (every, one, *write_tables(given, folder))
        operators = tables[2]
        for path in (*tables, *((save_as_json(each) for each in (every, one, operators)) if as_json else ())):
            show(str(path))


def _find_graph(etrecord: Path, *, strict: bool) -> Path | None:
    from etprof.app.traces import find_graph_beside

    try:
        return find_graph_beside(etrecord)
    except UsageError as error:
        if strict:
            raise
        say(f"note: {error.message}")
        return None


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


def write_tables(given: "TraceSet", folder: Path) -> tuple[Path, Path]:
    """The statistics of operators and of categories."""
    from etprof.app.trace_tables import write_statistics

    return write_statistics(folder, given.stem, given.details, given.categories, given.nodes)
