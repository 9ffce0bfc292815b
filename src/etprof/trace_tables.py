"""The tables a trace leaves on disk: timelines, operator statistics, category summary and ops.json."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from etprof.analysis.accounting import build_accounting, build_categories
from etprof.analysis.categories import RULES, Rule, categorize
from etprof.analysis.model_graph import GraphNode
from etprof.analysis.operator_shift import OperatorShift, build_ceilings
from etprof.analysis.operators import OperatorDetail, build_operator_details, find_unmatched_names
from etprof.analysis.steady_runs import find_steady
from etprof.analysis.transposes import CancellingPair, Movement
from etprof.core.report import CategoryRow
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_MS
from etprof.store import timeline_files as files

Nodes = Mapping[str, GraphNode]


def write_timelines(
    folder: Path, stem: str, traces: Sequence[Trace], *, model_id: str = "", rules: Sequence[Rule] = RULES
) -> tuple[Path, Path]:
    """Every event of the traces of one experiment, and those of its first inference alone."""
    cold = [(~find_steady(trace)).tolist() for trace in traces]
    every, first = folder / f"{stem}{files.ALL_RUNS_SUFFIX}", folder / f"{stem}{files.RUN0_SUFFIX}"
    for path, run in ((every, None), (first, 0)):
        files.save_timeline(
            path, traces, model_id=model_id or stem, label=lambda name: _label_name(name, rules), cold=cold, run=run
        )
    return every, first


def _label_name(name: str, rules: Sequence[Rule]) -> files.NameLabel:
    """A trace does not name the backend of a delegate call; XNNPACK is the one whose operators the rules know."""
    category = categorize(name, rules)
    return files.NameLabel(category.name, category.subcategory, "XnnpackBackend" if category.matched else "")


def write_statistics(
    folder: Path, stem: str, traces: Sequence[Trace], *, rules: Sequence[Rule] = RULES, nodes: Nodes | None = None
) -> tuple[Path, Path]:
    """Operators and categories over all steady inferences of the traces of one experiment."""
    details = build_operator_details(traces, rules)
    operators, categories = (
        folder / f"{stem}{files.OPS_STATS_SUFFIX}",
        folder / f"{stem}{files.CATEGORY_SUMMARY_SUFFIX}",
    )
    records = (describe_operator(detail, (nodes or {}).get(detail.row.identity)) for detail in details)
    files.save_records(operators, files.OPS_STATS_COLUMNS, records)
    rows = build_categories(traces, rules)
    files.save_records(categories, files.CATEGORY_COLUMNS, (describe_category(row) for row in rows))
    return operators, categories


def write_ops_json(
    path: Path, traces: Sequence[Trace], sources: Sequence[str], *, rules: Sequence[Rule], nodes: Nodes
) -> None:
    details = build_operator_details(traces, rules)
    cold = build_accounting(traces, cold=True)
    content = {
        "sources": list(sources),
        "accounting": asdict(build_accounting(traces)),
        "cold_accounting": asdict(cold) if cold.runs else None,
        "categories": [describe_category(row) for row in build_categories(traces, rules)],
        "operators": [describe_operator(detail, nodes.get(detail.row.identity)) for detail in details],
        "unmatched_names": list(find_unmatched_names(traces, rules)),
        "notes": list(dict.fromkeys(note for trace in traces for note in trace.notes)),
    }
    files.save_ops_json(path, content)


def write_comparison(
    folder: Path, shifts: Sequence[OperatorShift], before: Sequence[CategoryRow], after: Sequence[CategoryRow]
) -> tuple[Path, Path]:
    operators, categories = folder / files.OPERATOR_COMPARISON, folder / files.CATEGORY_COMPARISON
    files.save_records(operators, files.OPERATOR_COMPARISON_COLUMNS, (describe_shift(shift) for shift in shifts))
    gain_ms = sum(row.mean_ms for row in before) - sum(row.mean_ms for row in after)
    later = {row.name: row for row in after}
    files.save_records(
        categories,
        files.CATEGORY_COMPARISON_COLUMNS,
        (_describe_category_shift(row, later[row.name], gain_ms) for row in before if row.name in later),
    )
    return operators, categories


def write_movements(
    folder: Path, stem: str, movements: Sequence[Movement], pairs: Sequence[CancellingPair]
) -> tuple[Path, Path]:
    """Operators that only move data, and the pairs of them that cancel."""
    every, cancelling = folder / f"{stem}{files.MOVEMENTS_SUFFIX}", folder / f"{stem}{files.PAIRS_SUFFIX}"
    files.save_records(every, files.MOVEMENT_COLUMNS, (_describe_movement(movement) for movement in movements))
    files.save_records(cancelling, files.PAIR_COLUMNS, (_describe_pair(pair) for pair in pairs))
    return every, cancelling


def describe_operator(detail: OperatorDetail, node: GraphNode | None) -> dict[str, object]:
    row = asdict(detail.row)
    (ceiling,) = build_ceilings([], [detail.row])
    own = {key: value for key, value in asdict(detail).items() if key != "row"}
    place = {
        "module_path": node.module_path if node else "",
        "edge_nodes": " ".join(node.edge_nodes) if node else "",
        "output_shape": "x".join(map(str, node.outputs[0].shape)) if node and node.outputs else "",
        "ceiling_speedup": ceiling.speedup,
    }
    everything = {**row, **own, **place}
    return {column: everything[column] for column in files.OPS_STATS_COLUMNS}


def describe_category(row: CategoryRow) -> dict[str, object]:
    (ceiling,) = build_ceilings([row], [])
    return {
        "name": row.name,
        "total_ms": row.total_ns / NS_PER_MS,
        "mean_ms": row.mean_ms,
        "share": row.share,
        "events_per_run": row.events_per_run,
        "ceiling_speedup": ceiling.speedup,
    }


def describe_shift(shift: OperatorShift) -> dict[str, object]:
    before, after = shift.baseline, shift.candidate
    return {
        "name": before.name if before else "",
        "candidate_name": after.name if after else "",
        "baseline_identity": before.identity if before else "",
        "candidate_identity": after.identity if after else "",
        "category": shift.row.category,
        "baseline_ms": before.mean_ms if before else None,
        "candidate_ms": after.mean_ms if after else None,
        "baseline_share": before.share if before else None,
        "candidate_share": after.share if after else None,
        "speedup": shift.speedup,
        "gain_ms": shift.gain_ms,
        "share_of_gain": shift.share_of_gain,
        "newly_dominant": shift.newly_dominant,
    }


def _describe_category_shift(before: CategoryRow, after: CategoryRow, gain_ms: float) -> dict[str, object]:
    own_gain_ms = before.mean_ms - after.mean_ms
    return {
        "name": before.name,
        "baseline_ms": before.mean_ms,
        "candidate_ms": after.mean_ms,
        "baseline_share": before.share,
        "candidate_share": after.share,
        "speedup": before.mean_ms / after.mean_ms if after.mean_ms > 0 else None,
        "gain_ms": own_gain_ms,
        "share_of_gain": own_gain_ms / gain_ms if gain_ms else None,
    }


def _describe_movement(movement: Movement) -> dict[str, object]:
    row = movement.row
    return {
        "identity": row.identity,
        "name": row.name,
        "subcategory": row.subcategory,
        "mean_ms": row.mean_ms,
        "share": row.share,
        "bytes_moved": movement.bytes_moved,
        "gb_per_s": movement.gb_per_s,
        "shape": movement.shape,
        "cause": movement.cause,
        "module_path": movement.module_path,
    }


def _describe_pair(pair: CancellingPair) -> dict[str, object]:
    return {
        "first": pair.first.row.identity,
        "second": pair.second.row.identity,
        "kind": pair.kind,
        "between": "; ".join(pair.between),
        "evidence": pair.evidence,
        "saved_ms": pair.saved_ms,
    }
