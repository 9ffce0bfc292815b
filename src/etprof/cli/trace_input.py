"""What the trace commands share: traces named on the command line, read with their rules, graph and notes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etprof.cli.console import err
from etprof.core.errors import UsageError
from etprof.core.run import NO_TIMES

if TYPE_CHECKING:
    from etprof.analysis.alignment import Alignment
    from etprof.analysis.categories import Rule
    from etprof.analysis.model_graph import GraphNode, ModelGraph
    from etprof.core.trace import Trace

_THREADS = re.compile(r"_t(\d+)(?:_b\d+)?$")
TRACES_HELP = "A .etdump file, a timeline CSV of ours, or a folder: all traces in it are taken as one experiment."
TracesArgument = Annotated[list[Path] | None, typer.Argument(help=TRACES_HELP, metavar="TRACE", show_default=False)]
RulesOption = Annotated[
    Path | None,
    typer.Option("--rules", help="JSON file with category rules of your own, tried before the built-in ones."),
]
GraphOption = Annotated[
    Path | None, typer.Option("--graph", help="The model's .graph.json (etprof export --save-graph): names modules.")
]


@dataclass(frozen=True)
class TraceInput:
    """The traces of one experiment. `nodes` maps operators to graph nodes; empty without a graph.

    Of traces that an emulated device left, what ran is shown and no time.
    """

    paths: tuple[Path, ...]
    traces: tuple["Trace", ...]
    rules: tuple["Rule", ...]
    graph: "ModelGraph | None"
    alignments: tuple["Alignment", ...]
    nodes: dict[str, "GraphNode"]
    emulated: bool = False

    @property
    def stem(self) -> str:
        return self.paths[0].name.split("_all_runs_timeline")[0].removesuffix(".etdump")

    @property
    def origin(self) -> str:
        """Where the numbers come from, for a person."""
        return str(self.paths[0]) + (f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else "")

    def require_times(self) -> "TraceInput":
        """Refuses an emulated device's traces where times are all there is to tell."""
        if self.emulated:
            raise UsageError(
                f"{self.origin}: {NO_TIMES}.",
                hint="`etprof operators TRACE` lists the operators that ran, `etprof kernels RUN_DIR` the kernels.",
            )
        return self


def read_input(paths: Sequence[Path], rules: Path | None = None, graph: Path | None = None) -> TraceInput:
    """Reads them all, and tells on standard error what is to be said about them."""
    from etprof.analysis.alignment import align_traces, iter_mapped
    from etprof.analysis.model_graph import parse_graph
    from etprof.analysis.rules_file import load_rules
    from etprof.store.json_file import read_json
    from etprof.store.session_file import was_emulated

    found = _find_files(paths)
    table = load_rules(rules)
    traces = tuple(trace for path in found for trace in _read_traces(path))
    model = parse_graph(read_json(graph), str(graph)) if graph else None
    alignments = align_traces(traces, model) if model else ()
    for note in dict.fromkeys(note for trace in traces for note in trace.notes):
        err.print(f"note: {note}", markup=False)
    emulated = any(was_emulated(path) for path in found)
    return TraceInput(found, traces, table, model, alignments, dict(iter_mapped(alignments)), emulated)


def _find_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    if not paths:
        raise UsageError("No trace was named.", hint="Name a .etdump file that a run has left behind.")
    return tuple(file for path in paths for file in (_list_folder(path) if path.is_dir() else [path]))


def _list_folder(folder: Path) -> list[Path]:
    """All traces of an experiment's folder: its blocks, but never two thread counts together."""
    inside = sorted(folder.glob("*.etdump"))
    if not inside:
        raise UsageError(f"There is no .etdump in the folder {folder}.", hint="Name the folder of one experiment.")
    threads = {found[1] for path in inside if (found := _THREADS.search(path.stem))}
    if len(threads) > 1:
        raise UsageError(
            f"{folder} holds traces of {' and '.join(sorted(threads))} threads, which do not belong together.",
            hint=f"Name the files of one of them: {folder}/*_t{min(threads)}*.etdump",
        )
    return inside


def _read_traces(path: Path) -> "tuple[Trace, ...]":
    from etprof.store.timeline_files import load_timeline
    from etprof.traces.etdump import read_etdump

    return load_timeline(path) if path.suffix == ".csv" else (read_etdump(path),)
