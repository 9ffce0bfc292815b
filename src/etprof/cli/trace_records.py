"""What `etprof trace` prints with --csv and --json: everything that its tables are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from etprof.app.trace_tables import (
    build_classes,
    describe_category,
    describe_category_changes,
    describe_change,
    describe_layout_change,
    describe_operator,
    describe_pair,
    describe_rollup,
    describe_rollup_change,
    describe_traces,
)
from etprof.app.traces import TraceSet
from etprof.core.report import CancellingPair, LayoutChange, OperatorChange, RollupChange
from etprof.core.rows import RollupRow
from etprof.store import timeline_files as files

_CATEGORY_COLUMNS = ("name", "class", *files.CATEGORY_COLUMNS[1:])
_LAYOUT_COLUMNS = (*files.MOVEMENT_COLUMNS, "cancels_with", "pair_saves_ms")


@dataclass(frozen=True)
class Records:
    """`rows` are one table, for CSV; `content` is for JSON, which can hold several."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, object]]
    content: Mapping[str, object]

    def render_csv(self) -> str:
        return files.render_records(self.columns, self.rows)


def operator_records(given: TraceSet) -> Records:
    rows = [describe_operator(detail, given.nodes.get(detail.row.identity)) for detail in given.details]
    return Records(files.OPS_STATS_COLUMNS, rows, describe_traces(given))


def change_records(changes: Sequence[OperatorChange], baseline: TraceSet, candidate: TraceSet) -> Records:
    rows = [describe_change(change) for change in changes]
    categories = describe_category_changes(baseline.categories, candidate.categories)
    return Records(files.OPERATOR_COMPARISON_COLUMNS, rows, {"operators": rows, "categories": categories})


def rollup_records(by: str, rows: Sequence[RollupRow]) -> Records:
    records = [describe_rollup(by, row) for row in rows]
    return Records(files.ROLLUP_COLUMNS, records, {"groups": records})


def rollup_change_records(by: str, changes: Sequence[RollupChange]) -> Records:
    records = [describe_rollup_change(by, change) for change in changes]
    return Records(files.ROLLUP_COMPARISON_COLUMNS, records, {"groups": records})


def category_records(given: TraceSet) -> Records:
    """Each category as a whole, with an empty class, and then its classes."""
    categories = [{**describe_category(row), "class": ""} for row in given.categories]
    classes = [{**describe_category(row), "name": name, "class": row.name} for name, row in build_classes(given)]
    rows = [
        row for whole in categories for row in (whole, *(each for each in classes if each["name"] == whole["name"]))
    ]
    return Records(_CATEGORY_COLUMNS, rows, {"accounting": asdict(given.accounting), "categories": rows})


def layout_records(changes: Sequence[LayoutChange], pairs: Sequence[CancellingPair]) -> Records:
    """The saving of a pair stands with its first transpose, so that a sum counts it once."""
    firsts = {pair.first.identity: pair for pair in pairs}
    partners = {
        one.identity: other.identity for p in pairs for one, other in ((p.first, p.second), (p.second, p.first))
    }
    described = [describe_layout_change(change) for change in changes]
    rows = [
        {
            **record,
            "cancels_with": partners.get(change.identity),
            "pair_saves_ms": firsts[change.identity].saves_ms if change.identity in firsts else None,
        }
        for change, record in zip(changes, described, strict=True)
    ]
    content = {"layout_changes": described, "cancelling_pairs": [describe_pair(pair) for pair in pairs]}
    return Records(_LAYOUT_COLUMNS, rows, content)
