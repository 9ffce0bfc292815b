"""Single traces, outside of any run: read with a user's rules and the model's graph, and analysed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from etprof.analysis.graph.alignment import Alignment, align_operators, list_mapped
from etprof.analysis.graph.work import add_work
from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.apart import list_allocations, list_apart
from etprof.analysis.operators.operator_statistics import OperatorDetail, collect_operators, describe_operators
from etprof.app.model_graphs import load_named_graph
from etprof.app.trace_files import TraceFile, find_traces, pair_compared, require_one_pool
from etprof.core.categories import Rule
from etprof.core.errors import UsageError
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.layout import graph_path
from etprof.core.operators import OperatorId, OperatorSamples
from etprof.core.rows import Accounting, AllocationRow, ApartRow, CategoryRow, OperatorRow
from etprof.core.runtimes import TRACE_SUFFIXES
from etprof.core.trace import Trace
from etprof.core.units import NO_TIMES
from etprof.store.emulated_traces import was_emulated
from etprof.store.paths import require_file
from etprof.store.rules_file import load_rules
from etprof.store.timeline_files import load_timeline
from etprof.traces.trace_file import read_trace

_GRAPH_HINT = "`etprof export MODEL` writes it beside the .pte, as .graph.json; without modules the .pte will do."


@dataclass(frozen=True, eq=False)
class TraceSet:
    """The traces of one experiment, taken together.

    Of traces that an emulated device left, what ran is shown and no time.
    """

    paths: tuple[Path, ...]
    traces: tuple[Trace, ...]
    rules: tuple[Rule, ...]
    graph: ModelGraph | None = None
    emulated: bool = False

    @property
    def stem(self) -> str:
        name = self.paths[0].name.split("_all_runs_timeline")[0]
        return next((name.removesuffix(suffix) for suffix in TRACE_SUFFIXES if name.endswith(suffix)), name)

    @property
    def origin(self) -> str:
        """Where the numbers come from, for a person."""
        return str(self.paths[0]) + (f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else "")

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for trace in self.traces for note in trace.notes))

    @cached_property
    def tables(self) -> tuple[OperatorSamples, ...]:
        return collect_operators(self.traces)

    @cached_property
    def accounting(self) -> Accounting:
        return build_accounting(self.traces)

    @cached_property
    def details(self) -> tuple[OperatorDetail, ...]:
        details = describe_operators(self.tables, self.accounting.end_to_end_ns, self.rules)
        return tuple(replace(each, row=add_work(each.row, self.nodes.get(each.row.identity))) for each in details)

    @property
    def operators(self) -> tuple[OperatorRow, ...]:
        return tuple(detail.row for detail in self.details)

    @cached_property
    def categories(self) -> tuple[CategoryRow, ...]:
        return build_categories(self.tables, self.accounting, self.rules)

    @cached_property
    def apart(self) -> tuple[ApartRow, ...]:
        return list_apart(self.traces)

    @cached_property
    def allocations(self) -> tuple[AllocationRow, ...]:
        return list_allocations(self.traces)

    @cached_property
    def alignments(self) -> tuple[Alignment, ...]:
        return align_operators(self.tables, self.graph) if self.graph else ()

    @cached_property
    def nodes(self) -> Mapping[OperatorId, GraphNode]:
        """The graph node of each operator; empty without a graph."""
        return list_mapped(self.alignments)

    def require_times(self) -> "TraceSet":
        """Refuses an emulated device's traces where times are all there is to tell."""
        if self.emulated:
            raise UsageError(
                f"{self.origin}: {NO_TIMES}.",
                hint="`etprof trace operators TRACE` lists the operators that ran, `etprof kernels run` the kernels.",
            )
        return self


def read_traces(paths: Sequence[Path], rules: Path | None = None, graph: Path | None = None) -> TraceSet:
    """`paths` are traces, timelines of ours, or folders; all of them belong to one variant."""
    return _read_pool(find_traces(paths), rules, graph)


def read_compared(
    paths: Sequence[Path], compared: Sequence[Path], rules: Path | None = None, graph: Path | None = None
) -> list[tuple[TraceSet, TraceSet]]:
    """The candidate's traces and the baseline's, at each thread count that they were recorded at."""
    return [
        (_read_pool(candidate, rules, graph), _read_pool(baseline, rules, graph))
        for candidate, baseline in pair_compared(paths, compared)
    ]


def find_graph_beside(etrecord: Path) -> Path:
    """The node lists that an export writes beside its ETRecord, which itself is not read."""
    if not etrecord.is_file():
        raise UsageError(f"There is no ETRecord {etrecord}.", hint=_GRAPH_HINT)
    graph = graph_path(etrecord.with_suffix(""))
    if not graph.is_file():
        raise UsageError(
            f"{etrecord} is not used: modules are named by {graph.name}, which is not beside it.", hint=_GRAPH_HINT
        )
    return graph


def _read_pool(files: Sequence[TraceFile], rules: Path | None, graph: Path | None) -> TraceSet:
    found = require_one_pool(files)
    table = load_rules(rules)
    traces = tuple(trace for path in found for trace in _read_file(path))
    model = load_named_graph(require_file(graph, "graph", hint=_GRAPH_HINT)) if graph else None
    return TraceSet(found, traces, table, model, was_emulated(*found))


def _read_file(path: Path) -> tuple[Trace, ...]:
    return load_timeline(path) if path.suffix == ".csv" else (read_trace(path),)
