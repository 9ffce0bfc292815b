"""`etprof timeline`: every event of a trace as CSV."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.trace_input import GraphOption, RulesOption, TracesArgument, read_input


def command(
    traces: TracesArgument = None,
    etdump: Annotated[Path | None, typer.Option("--etdump", help="The same, as an option.")] = None,
    output_dir: Annotated[Path | None, typer.Option(help="Where to write; default: beside each trace.")] = None,
    model_id: Annotated[
        str, typer.Option(help="What to write into the column model_id; default: the file's name.")
    ] = "",
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Write the timeline and the statistics of each TRACE as CSV; a folder's traces become one timeline."""
    from etprof.trace_tables import write_statistics, write_timelines

    # Nothing is written before all of them have been read.
    paths = (*(traces or ()), *([etdump] if etdump else ()))
    inputs = [read_input([path], rules, graph).require_times() for path in paths]
    for given in inputs or [read_input([])]:
        folder = output_dir or given.paths[0].parent
        timelines = write_timelines(folder, given.stem, given.traces, model_id=model_id, rules=given.rules)
        statistics = write_statistics(folder, given.stem, given.traces, rules=given.rules, nodes=given.nodes)
        for name in (*timelines, *statistics):
            out.print(str(name), markup=False)
