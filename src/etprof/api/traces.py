"""ETDump files as objects, outside of any run; to read them, numpy is enough."""

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from etprof.analysis.operators.rollups import DEFAULT_DEPTH, roll_up
from etprof.api import StrPath
from etprof.api.tables import Table, build_table
from etprof.app.trace_tables import describe_category, describe_operator, describe_rollup
from etprof.app.traces import TraceSet, read_traces
from etprof.core.rows import AllocationRow, ApartRow
from etprof.store.timeline_files import CATEGORY_COLUMNS, OPS_STATS_COLUMNS, ROLLUP_COLUMNS

_APART_COLUMNS, _ALLOCATION_COLUMNS = (tuple(each.name for each in fields(row)) for row in (ApartRow, AllocationRow))


class Trace:
    """One or more ETDumps of the same experiment, taken together. Times are over the steady inferences."""

    def __init__(self, traces: TraceSet) -> None:
        self._traces = traces

    @property
    def event_count(self) -> int:
        return sum(map(len, self._traces.traces))

    @property
    def inference_count(self) -> int:
        return sum(trace.run_count for trace in self._traces.traces)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unusual about the files, such as an inference that was cut off."""
        return self._traces.notes

    def operators(self) -> Table:
        """A row for each operator, the slowest first. Of an emulated device's trace, times and shares are None."""
        nodes = self._traces.nodes
        rows = [describe_operator(detail, nodes.get(detail.row.identity)) for detail in self._traces.details]
        if self._traces.emulated:
            rows = [row | {column: None for column in row if _is_time(column)} for row in rows]
        return _build_table(OPS_STATS_COLUMNS, rows)

    def rollup(self, by: str = "kind", *, depth: int = DEFAULT_DEPTH) -> Table:
        """A row for each group of operators: `by` kind of layer, module (its first `depth` names) or shape."""
        rows = roll_up(self._traces.require_times().operators, by, depth)
        return _build_table(ROLLUP_COLUMNS, (describe_rollup(by, row) for row in rows))

    def categories(self) -> Table:
        """A row for each category; they add up to the end-to-end time."""
        return _build_table(CATEGORY_COLUMNS, map(describe_category, self._traces.require_times().categories))

    def latency(self) -> Table:
        """One row with statistics over whole inferences, which were traced; `Run.latencies()` has untraced ones."""
        from etprof.app.trace_latency import summarize_traced

        summary = asdict(summarize_traced(self._traces.require_times()))
        del summary["block_medians_ms"]
        return build_table(tuple(summary), [list(summary.values())])

    def apart(self) -> Table:
        """A row for each event of a delegate that is in no sum: stages, overlapping ones, those on another clock."""
        return _build_table(_APART_COLUMNS, map(asdict, self._traces.require_times().apart))

    def allocations(self) -> Table:
        """A row for each of the runtime's allocators, where the trace recorded allocations."""
        return _build_table(_ALLOCATION_COLUMNS, map(asdict, self._traces.allocations))

    def __repr__(self) -> str:
        return f"<Trace {self._traces.origin}: {self.event_count} events, {self.inference_count} inferences>"


def read_trace(etdump: StrPath, *, rules: StrPath | None = None, graph: StrPath | None = None) -> Trace:
    """Reads an ETDump, or all those of a folder as one experiment.

    `rules` is a JSON file with category rules of your own, `graph` the .graph.json of the model, which names modules.
    """
    paths = [None if path is None else Path(path) for path in (rules, graph)]
    return Trace(read_traces([Path(etdump)], *paths))


def _build_table(columns: tuple[str, ...], records: Iterable[dict[str, Any]]) -> Table:
    return build_table(columns, ([record[column] for column in columns] for record in records))


def _is_time(column: str) -> bool:
    return column.endswith(("_ms", "_per_s")) or column in ("share", "ceiling_speedup")
