"""Options of `etprof trace` that several of its commands share, and how they read what is named with them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import say

if TYPE_CHECKING:
    from etprof.app.traces import TraceSet

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
    Path | None, typer.Option("--graph", help="The model's .graph.json, which names modules, or its .pte.")
]
TimelineOption = Annotated[
    list[Path] | None, typer.Option("--timeline-csv", help="A timeline CSV, as an option.", show_default=False)
]
CompareOption = Annotated[
    list[Path] | None,
    typer.Option("--compare", help="The baseline to compare with, at the same thread counts.", show_default=False),
]
EtdumpOption = Annotated[Path | None, typer.Option("--etdump", help="The same, as an option.")]
TablesOption = Annotated[Path | None, typer.Option("--output-dir", help="Write the tables there as CSV too.")]


def read(paths: Sequence[Path], rules: Path | None, graph: Path | None = None) -> "TraceSet":
    """Reads them all, and says on standard error what is to be known about them."""
    from etprof.app.traces import read_traces

    return say_notes(read_traces(paths, rules, graph))


def say_notes(given: "TraceSet") -> "TraceSet":
    for note in given.notes:
        say(f"note: {note}")
    return given


def read_sides(
    paths: Sequence[Path], compare: Sequence[Path], rules: Path | None, graph: Path | None
) -> "list[tuple[TraceSet, TraceSet | None]]":
    """The traces with their baseline; with --compare, a pair for each thread count."""
    from etprof.app.traces import read_compared

    if not compare:
        return [(read(paths, rules, graph), None)]
    pairs = read_compared(paths, compare, rules, graph)
    return [(say_notes(given), say_notes(baseline).require_times()) for given, baseline in pairs]
