"""The tables a trace leaves on disk: timelines, operator statistics, category summary and ops.json."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from etprof.analysis.operators.accounting import build_accounting
from etprof.analysis.operators.ceilings import build_ceilings
from etprof.analysis.operators.operator_statistics import OperatorDetail, find_unmatched_names
from etprof.app.traces import TraceSet
from etprof.core import layout
from etprof.core.categories import RULES, Rule, categorize
from etprof.core.errors import UsageError
from etprof.core.graph import GraphNode
from etprof.core.operators import OperatorId
from etprof.core.rows import CategoryRow, RollupRow
from etprof.core.trace import Trace
from etprof.core.units import NS_PER_MS
from etprof.core.work import describe_work, format_shape, rate_gmac_per_s
from etprof.store import timeline_files as files

if TYPE_CHECKING:
    from etprof.core.report import CancellingPair, LayoutChange, OperatorChange, RollupChange

Nodes = Mapping[OperatorId, GraphNode]


def write_timelines(
    folder: Path, stem: str, traces: Sequence[Trace], *, model_id: str = "", rules: Sequence[Rule] = RULES, run: int = 0
) -> tuple[Path, Path]:
    """Every event of the traces of one experiment, and those of one inference alone, by default the first."""
    count = sum(trace.run_count for trace in traces)
    if run and run >= count:
        raise UsageError(f"{stem} has no inference {run}.", hint=f"It has {count}, counted from 0.")
    cold = [(~trace.is_steady).tolist() for trace in traces]
    every, one = folder / f"{stem}{layout.ALL_RUNS_SUFFIX}", folder / f"{stem}{layout.run_suffix(run)}"
    for path, wanted in ((every, None), (one, run)):
        files.save_timeline(
            path, traces, model_id=model_id or stem, label=lambda name: _label_name(name, rules), cold=cold, run=wanted
        )
    return every, one


def _label_name(name: str, rules: Sequence[Rule]) -> files.NameLabel:
    """A trace does not name the backend of a delegate call; XNNPACK is the one whose operators the rules know."""
    category = categorize(name, rules)
    return files.NameLabel(category.name, category.subcategory, "XnnpackBackend" if category.matched else "")


def write_statistics(
    folder: Path, stem: str, details: Sequence[OperatorDetail], categories: Sequence[CategoryRow], nodes: Nodes
) -> tuple[Path, Path]:
    """Operators and categories over all steady inferences of the traces of one variant."""
    operators_path = folder / f"{stem}{layout.OPS_STATS_SUFFIX}"
    categories_path = folder / f"{stem}{layout.CATEGORY_SUMMARY_SUFFIX}"
    records = (describe_operator(detail, nodes.get(detail.row.identity)) for detail in details)
    files.save_records(operators_path, files.OPS_STATS_COLUMNS, records)
    files.save_records(categories_path, files.CATEGORY_COLUMNS, (describe_category(row) for row in categories))
    return operators_path, categories_path


def write_ops_json(path: Path, given: TraceSet) -> None:
    files.save_ops_json(path, describe_traces(given))


def describe_traces(given: TraceSet) -> dict[str, object]:
    """Operators, categories and accounting: what ops.json holds."""
    cold = build_accounting(given.traces, cold=True)
    return {
        "sources": [source.name for source in given.paths],
        "accounting": asdict(given.accounting),
        "cold_accounting": asdict(cold) if cold.runs else None,
        "categories": [describe_category(row) for row in given.categories],
        "operators": [describe_operator(detail, given.nodes.get(detail.row.identity)) for detail in given.details],
        "unmatched_names": list(find_unmatched_names(given.traces, given.rules)),
        "apart": [asdict(row) for row in given.apart],
        "allocations": [asdict(row) for row in given.allocations],
        "notes": list(given.notes),
    }


def build_classes(given: TraceSet) -> list[tuple[str, CategoryRow]]:
    """The finer classes with their categories, each accounted for like a category; the longest first."""
    classes: dict[tuple[str, str], list[OperatorDetail]] = {}
    for detail in given.details:
        classes.setdefault((detail.row.category, detail.row.subcategory), []).append(detail)
    runs = max(given.accounting.runs, 1)
    rows: list[tuple[str, CategoryRow]] = []
    for (category, name), own in classes.items():
        total_ms = sum(detail.total_ms for detail in own)
        share = sum(detail.row.share for detail in own)
        events = sum(detail.row.count for detail in own)
        rows.append((category, CategoryRow(name, round(total_ms * NS_PER_MS), total_ms / runs, share, events / runs)))
    return sorted(rows, key=lambda row: -row[1].share)


def write_comparison(
    folder: Path, changes: "Sequence[OperatorChange]", before: Sequence[CategoryRow], after: Sequence[CategoryRow],
    prefix: str = "",
) -> tuple[Path, Path]:  # fmt: skip
    """`prefix` tells the comparisons at several thread counts apart."""
    operators = folder / f"{prefix}{layout.OPERATOR_COMPARISON}"
    categories = folder / f"{prefix}{layout.CATEGORY_COMPARISON}"
    files.save_records(operators, files.OPERATOR_COMPARISON_COLUMNS, (describe_change(change) for change in changes))
    files.save_records(categories, files.CATEGORY_COMPARISON_COLUMNS, describe_category_changes(before, after))
    return operators, categories


def write_layout_changes(
    folder: Path, stem: str, changes: "Sequence[LayoutChange]", pairs: "Sequence[CancellingPair]"
) -> tuple[Path, Path]:
    """Operators that only move data, and the pairs of them that cancel."""
    every, cancelling = folder / f"{stem}{layout.MOVEMENTS_SUFFIX}", folder / f"{stem}{layout.PAIRS_SUFFIX}"
    files.save_records(every, files.MOVEMENT_COLUMNS, (describe_layout_change(change) for change in changes))
    files.save_records(cancelling, files.PAIR_COLUMNS, (describe_pair(pair) for pair in pairs))
    return every, cancelling


def describe_operator(detail: OperatorDetail, node: GraphNode | None) -> dict[str, object]:
    row = asdict(detail.row)
    (ceiling,) = build_ceilings([], [detail.row])
    own = {key: value for key, value in asdict(detail).items() if key != "row"}
    place = {
        "edge_nodes": " ".join(node.edge_nodes) if node else "",
        "ceiling_speedup": ceiling.speedup,
    }
    everything = {**row, **own, **describe_work(detail.row.work), **place}
    if node and node.outputs:
        # Of the node, also where the operator is only a part of its work.
        everything["output_shape"] = format_shape(node.outputs[0].shape)
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


def describe_change(change: "OperatorChange") -> dict[str, object]:
    macs = change.work.macs if change.work else None
    return {
        "name": change.baseline_name,
        "candidate_name": change.name if change.candidate_identity else "",
        "baseline_identity": change.baseline_identity or "",
        "candidate_identity": change.candidate_identity or "",
        "category": change.category,
        "baseline_ms": change.baseline_ms,
        "candidate_ms": change.candidate_ms,
        "baseline_share": change.baseline_share,
        "candidate_share": change.candidate_share,
        "speedup": change.speedup,
        "gain_ms": change.gain_ms,
        "share_of_gain": change.share_of_gain,
        "newly_dominant": change.newly_dominant,
        "module_path": change.module_path,
        "kind": change.kind,
        "macs": macs,
        "baseline_gmac_per_s": rate_gmac_per_s(macs, change.baseline_ms),
        "candidate_gmac_per_s": rate_gmac_per_s(macs, change.candidate_ms),
    }


def describe_rollup(by: str, row: RollupRow) -> dict[str, object]:
    return {
        "by": by,
        "name": row.name,
        "operators": row.count,
        "mean_ms": row.mean_ms,
        "share": row.share,
        "macs": row.macs,
        "gmac_per_s": row.gmac_per_s,
    }


def describe_rollup_change(by: str, change: "RollupChange") -> dict[str, object]:
    before, after = change.baseline, change.candidate
    return {
        "by": by,
        "name": change.name,
        "baseline_operators": before.count if before else 0,
        "candidate_operators": after.count if after else 0,
        "baseline_ms": before.mean_ms if before else None,
        "candidate_ms": after.mean_ms if after else None,
        "baseline_share": before.share if before else None,
        "candidate_share": after.share if after else None,
        "speedup": change.speedup,
        "gain_ms": change.gain_ms,
        "macs": after.macs if after else before.macs if before else None,
        "baseline_gmac_per_s": before.gmac_per_s if before else None,
        "candidate_gmac_per_s": after.gmac_per_s if after else None,
    }


def describe_category_changes(before: Sequence[CategoryRow], after: Sequence[CategoryRow]) -> list[dict[str, object]]:
    """The categories that both sides have."""
    gain_ms = sum(row.mean_ms for row in before) - sum(row.mean_ms for row in after)
    later = {row.name: row for row in after}
    return [_describe_category_change(row, later[row.name], gain_ms) for row in before if row.name in later]


def _describe_category_change(before: CategoryRow, after: CategoryRow, gain_ms: float) -> dict[str, object]:
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


def describe_layout_change(change: "LayoutChange") -> dict[str, object]:
    # The column is called so since the first version.
    return asdict(change) | {"subcategory": change.kind}


def describe_pair(pair: "CancellingPair") -> dict[str, object]:
    return {
        "first": pair.first.identity,
        "second": pair.second.identity,
        "kind": pair.kind,
        "between": "; ".join(pair.between),
        "evidence": pair.evidence,
        "saved_ms": pair.saves_ms,
    }
