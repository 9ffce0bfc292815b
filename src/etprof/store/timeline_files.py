"""Timelines and tables of a trace as CSV, and ops.json: written here, and the timeline read back here."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from etprof.core.csv_cells import guard_cell, unguard_cell
from etprof.core.errors import StoreError
from etprof.core.trace import EventKind, Metadata, Trace
from etprof.core.units import NS_PER_MS
from etprof.store.json_file import write_json, write_text

# 1: first version.
OPS_JSON_VERSION = 1

# The first eleven are what users' scripts read; new ones are added behind them and none is ever taken away.
TIMELINE_COLUMNS = (
    "model_id", "name", "type", "delegate_backend", "start_us", "end_us", "duration_ms", "pct_total", "node_id",
    "run_index", "block", "category", "subcategory", "identity", "delegate_call", "position", "signature", "cold",
    "process", "ticks", "metadata",
)  # fmt: skip
# Timelines that were written before there were these are read all the same.
_LATER_COLUMNS = ("ticks", "metadata")
OPS_STATS_COLUMNS = (
    "identity", "name", "category", "subcategory", "delegated", "data_type", "count", "mean_ms", "median_ms", "min_ms",
    "max_ms", "std_ms", "p95_ms", "total_ms", "share", "cold_ms", "module_path", "edge_nodes", "output_shape",
    "ceiling_speedup", "kind", "input_shape", "weight_shape", "macs", "minimal_bytes", "gmac_per_s",
    "metadata",
)  # fmt: skip
CATEGORY_COLUMNS = ("name", "total_ms", "mean_ms", "share", "events_per_run", "ceiling_speedup")
OPERATOR_COMPARISON_COLUMNS = (
    "name", "candidate_name", "baseline_identity", "candidate_identity", "category", "baseline_ms", "candidate_ms",
    "baseline_share", "candidate_share", "speedup", "gain_ms", "share_of_gain", "newly_dominant", "module_path", "kind",
    "macs", "baseline_gmac_per_s", "candidate_gmac_per_s",
)  # fmt: skip
ROLLUP_COLUMNS = ("by", "name", "operators", "mean_ms", "share", "macs", "gmac_per_s")
ROLLUP_COMPARISON_COLUMNS = (
    "by", "name", "baseline_operators", "candidate_operators", "baseline_ms", "candidate_ms", "baseline_share",
    "candidate_share", "speedup", "gain_ms", "macs", "baseline_gmac_per_s", "candidate_gmac_per_s",
)  # fmt: skip
CATEGORY_COMPARISON_COLUMNS = (
    "name", "baseline_ms", "candidate_ms", "baseline_share", "candidate_share", "speedup", "gain_ms", "share_of_gain",
)  # fmt: skip
MOVEMENT_COLUMNS = (
    "identity", "name", "subcategory", "mean_ms", "share", "bytes_moved", "gb_per_s", "shape", "cause", "module_path",
)  # fmt: skip
PAIR_COLUMNS = ("first", "second", "kind", "between", "evidence", "saved_ms")


class NameLabel(NamedTuple):
    """What is known about an operator's name; `backend` where a delegate's operators are called so."""

    category: str
    subcategory: str
    backend: str


def save_timeline(
    path: Path,
    traces: Sequence[Trace],
    *,
    model_id: str,
    label: Callable[[str], NameLabel],
    cold: Sequence[Sequence[bool]],
    run: int | None = None,
) -> None:
    """Every event of the traces of one experiment, or those of one run. `cold` is per trace and run."""
    write_text(path, _render_csv(TIMELINE_COLUMNS, _timeline_rows(traces, model_id, label, cold, run)))


def _timeline_rows(
    traces: Sequence[Trace],
    model_id: str,
    label: Callable[[str], NameLabel],
    cold: Sequence[Sequence[bool]],
    wanted: int | None,
) -> Iterator[Sequence[object]]:
    earlier_runs = 0
    for process, (trace, is_cold) in enumerate(zip(traces, cold, strict=True)):
        labels = [label(name) for name in trace.names]
        rows = np.arange(len(trace)) if wanted is None else np.flatnonzero(trace.run == wanted - earlier_runs)
        for row in _trace_rows(trace, rows.tolist(), labels, is_cold, earlier_runs):
            yield (guard_cell(model_id), *row[:-2], process, *row[-2:])
        earlier_runs += trace.run_count


def _trace_rows(
    trace: Trace, rows: Sequence[int], labels: Sequence[NameLabel], cold: Sequence[bool], earlier_runs: int
) -> Iterator[tuple[object, ...]]:
    """The columns name to cold, ticks and metadata. What is the same for a whole run or in every run is found once."""
    # Run -1 finds the last entry: nothing, for what belongs to no run.
    whole_ns = [*trace.duration_ns[trace.kind == EventKind.EXECUTE].tolist(), 0]
    runs: list[tuple[object, ...]] = [
        (earlier_runs + run, signature, str(is_cold).lower())
        for run, (signature, is_cold) in enumerate(zip(trace.signature.tolist(), cold, strict=True))
    ]
    runs.append(("", "", ""))
    texts = dict(zip(trace.metadata.row.tolist(), trace.metadata.text.tolist(), strict=True))
    block_names = [guard_cell(name) for name in trace.block_names]
    places: dict[tuple[int, ...], tuple[tuple[object, ...], tuple[object, ...]]] = {}
    identifying = _pick(rows, trace.name, trace.kind, trace.delegate_call, trace.position)
    numbers = _pick(rows, trace.start_ns, trace.duration_ns, trace.instruction, trace.run, trace.block)
    for row, place, (start, duration, instruction, run, block) in zip(rows, identifying, numbers, strict=True):
        if place not in places:
            places[place] = _describe_place(trace, row, labels)
        front, back = places[place]
        is_untimed = front[1] == EventKind.UNTIMED_OPERATOR.name
        times = ("", "", "", "") if is_untimed else _describe_times(start, duration, whole_ns[run])
        run_index, signature, is_cold = runs[run]
        where = (instruction, run_index, block_names[block])
        beside = (duration if is_untimed else "", guard_cell(trace.metadata.texts[texts[row]]) if row in texts else "")
        yield (*front, *times, *where, *back, signature, is_cold, *beside)


def _describe_times(start_ns: int, duration_ns: int, whole_ns: int) -> tuple[str, str, str, str]:
    """The columns start_us to pct_total."""
    end_ns = start_ns + duration_ns
    return (
        f"{start_ns // 1000}.{start_ns % 1000:03d}",
        f"{end_ns // 1000}.{end_ns % 1000:03d}",
        f"{duration_ns // NS_PER_MS}.{duration_ns % NS_PER_MS:06d}",
        f"{100 * duration_ns / whole_ns:.4f}" if whole_ns else "",
    )


def _pick(rows: Sequence[int], *columns: NDArray[Any]) -> Iterator[tuple[int, ...]]:
    return zip(*(column[rows].tolist() for column in columns), strict=True)


def _describe_place(
    trace: Trace, row: int, labels: Sequence[NameLabel]
) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The columns name to delegate_backend, and category to position."""
    kind = EventKind(trace.kind[row])
    is_operator = kind in (EventKind.DELEGATED_OPERATOR, EventKind.PORTABLE_OPERATOR)
    category, subcategory, backend = labels[trace.name[row]] if is_operator else ("", "", "")
    call, position = (value if value >= 0 else "" for value in (trace.delegate_call[row], trace.position[row]))
    front = (trace.names[trace.name[row]], kind.name, backend if kind == EventKind.DELEGATED_OPERATOR else "")
    identity = trace.identity(row) if (is_operator or trace.is_apart[row]) and position != "" else ""
    return tuple(map(guard_cell, front)), (guard_cell(category), guard_cell(subcategory), identity, call, position)


def save_records(path: Path, columns: Sequence[str], records: Iterable[Mapping[str, object]]) -> None:
    write_text(path, render_records(columns, records))


def render_records(columns: Sequence[str], records: Iterable[Mapping[str, object]]) -> str:
    """A table out of records that have these columns; None becomes an empty field."""
    return _render_csv(columns, ([_format(record[column]) for column in columns] for record in records))


def _render_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _format(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.9g}" if isinstance(value, float) else "" if value is None else guard_cell(value)


# Columns whose cells are text or true and false; all others are numbers.
_TEXT_COLUMNS = frozenset({
    "model_id", "name", "type", "delegate_backend", "block", "category", "subcategory", "identity", "metadata",
    "data_type", "module_path", "edge_nodes", "output_shape", "kind", "input_shape", "weight_shape",
})  # fmt: skip
_TRUTH = {"true": True, "false": False}


def save_as_json(path: Path) -> Path:
    """A timeline or a table of operators again, as a JSON list with an object for each row; null is an empty field."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [{name: _as_value(name, cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    target = path.with_suffix(".json")
    write_json(target, rows)
    return target


def _as_value(column: str, cell: str) -> object:
    if not cell:
        return None
    if column in _TEXT_COLUMNS:
        return unguard_cell(cell)
    return _TRUTH[cell] if cell in _TRUTH else float(cell) if "." in cell or "e" in cell else int(cell)


def save_ops_json(path: Path, content: Mapping[str, object]) -> None:
    write_json(path, {"schema_version": OPS_JSON_VERSION, **content})


def load_timeline(path: Path) -> tuple[Trace, ...]:
    """A timeline that `save_timeline` wrote, as the traces it came from."""
    hint = f"Write it again from its trace: etprof trace timeline {path.stem.split('_all_runs')[0]}.etdump"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            columns = (*(reader.fieldnames or ()), *_LATER_COLUMNS)
            missing = [column for column in TIMELINE_COLUMNS if column not in columns]
            if missing:
                raise StoreError(f"{path} is not an etprof timeline: it has no column {missing[0]!r}.", hint=hint)
            records = list(reader)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"{path} is not a valid CSV file: {error}.", hint=hint) from error
    if not records:
        raise StoreError(f"{path} holds no event.", hint=hint)
    try:
        processes = groupby(records, key=lambda record: int(record["process"]))
        return tuple(_build_trace(list(own)) for _, own in processes)
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, AttributeError) as error:
        raise StoreError(f"{path} has an invalid field: {error}.", hint=hint) from error


def _build_trace(records: Sequence[Mapping[str, str]]) -> Trace:
    names: dict[str, int] = {}
    blocks: dict[str, int] = {}
    run = np.array([int(r["run_index"] or -1) for r in records], np.int32)
    if (run >= 0).any():
        run[run >= 0] -= run[run >= 0].min()
    kind = np.array([EventKind[r["type"]] for r in records], np.int8)
    wholes = np.flatnonzero(kind == EventKind.EXECUTE)
    if run[wholes].tolist() != list(range(len(wholes))) or run.max() >= len(wholes):
        raise ValueError("runs without one Method::execute each")
    start = np.array([_parse(r["start_us"], 3) if r["start_us"] else 0 for r in records], np.int64)
    return Trace(
        name=np.array([names.setdefault(unguard_cell(r["name"]), len(names)) for r in records], np.int32),
        kind=kind,
        block=np.array([blocks.setdefault(unguard_cell(r["block"]), len(blocks)) for r in records], np.int32),
        run=run,
        delegate_call=np.array([int(r["delegate_call"] or -1) for r in records], np.int32),
        position=np.array([int(r["position"] or -1) for r in records], np.int32),
        instruction=np.array([int(r["node_id"]) for r in records], np.int32),
        start_ns=start,
        duration_ns=np.array([_parse_duration(r) for r in records], np.int64),
        signature=np.array([int(records[row]["signature"]) for row in wholes.tolist()], np.int32),
        run_count=len(wholes),
        names=tuple(names),
        block_names=tuple(blocks),
        metadata=_build_metadata(records),
    )


def _build_metadata(records: Sequence[Mapping[str, str]]) -> Metadata:
    texts: dict[str, int] = {}
    rows = [row for row, record in enumerate(records) if record.get("metadata")]
    numbers = [texts.setdefault(unguard_cell(records[row]["metadata"]), len(texts)) for row in rows]
    return Metadata(tuple(texts), np.array(rows, np.int64), np.array(numbers, np.int32))


def _parse_duration(record: Mapping[str, str]) -> int:
    """In nanoseconds, or in the units of a clock of its own where the event has no time."""
    return int(record["ticks"]) if record.get("ticks") else _parse(record["duration_ms"], 6)


def _parse(text: str, digits: int) -> int:
    """A decimal number with so many digits behind the point, as a whole number of its last digit; exact."""
    whole, _, fraction = text.partition(".")
    if len(fraction) != digits:
        raise ValueError(f"{text!r} where {digits} decimal places were expected")
    return int(whole + fraction)
