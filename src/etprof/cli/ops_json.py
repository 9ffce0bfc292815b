"""`etprof ops-json`: operators, categories and accounting of traces as one JSON file."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.cli.trace_input import GraphOption, RulesOption, TracesArgument, read_input


def command(
    traces: TracesArgument = None,
    etdump: Annotated[Path | None, typer.Option("--etdump", help="The same, as an option.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; default: TRACE_ops.json beside the trace.")
    ] = None,
    rules: RulesOption = None,
    graph: GraphOption = None,
) -> None:
    """Write operators, categories and accounting of one experiment's traces as JSON."""
    from etprof.store.timeline_files import OPS_JSON_SUFFIX
    from etprof.trace_tables import write_ops_json

    given = read_input([*(traces or ()), *([etdump] if etdump else ())], rules, graph).require_times()
    path = output or given.paths[0].parent / f"{given.stem}{OPS_JSON_SUFFIX}"
    sources = [source.name for source in given.paths]
    write_ops_json(path, given.traces, sources, rules=given.rules, nodes=given.nodes)
    out.print(str(path), markup=False)
