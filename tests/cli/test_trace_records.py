"""What `etprof trace` prints for machines: every row and every column, once, and adding up."""

import csv
from collections.abc import Sequence

import pytest

from etprof.analysis.graph.data_movement import find_cancelling, list_layout_changes
from etprof.analysis.operators.operator_changes import build_operator_changes
from etprof.app.traces import TraceSet, read_traces
from etprof.cli.trace_records import Records, category_records, change_records, layout_records, operator_records
from etprof.store import timeline_files as files
from trace_builder import RECORDED


@pytest.fixture(scope="module")
def given() -> TraceSet:
    path = RECORDED["mobilenet_v3"]
    return read_traces([path], graph=path.with_suffix(".graph.json"))


def parse(records: Records, columns: Sequence[str]) -> list[dict[str, str]]:
    reader = csv.DictReader(records.render_csv().splitlines())
    assert list(reader.fieldnames or ()) == list(columns)
    return list(reader)


def test_operators_are_those_of_the_statistics_file(given: TraceSet) -> None:
    records = operator_records(given)
    rows = parse(records, files.OPS_STATS_COLUMNS)
    assert [row["identity"] for row in rows] == [row.identity for row in given.operators]
    assert records.content["operators"] == list(records.rows)
    assert {"accounting", "categories", "unmatched_names", "notes"} <= records.content.keys()


def test_categories_come_with_their_classes_and_add_up(given: TraceSet) -> None:
    rows = parse(category_records(given), ("name", "class", *files.CATEGORY_COLUMNS[1:]))
    wholes = [row for row in rows if not row["class"]]
    assert [row["name"] for row in wholes] == [row.name for row in given.categories]
    assert sum(float(row["share"]) for row in wholes) == pytest.approx(1.0)
    for whole in wholes:
        classes = [row for row in rows if row["class"] and row["name"] == whole["name"]]
        if classes:
            assert sum(float(row["total_ms"]) for row in classes) == pytest.approx(float(whole["total_ms"]))
            assert sum(float(row["events_per_run"]) for row in classes) == float(whole["events_per_run"])
    assert rows[rows.index(wholes[1]) + 1]["name"] == wholes[1]["name"], "classes stand below their category"


def test_a_pair_of_transposes_is_named_from_both_sides_and_counted_once(given: TraceSet) -> None:
    changes = list_layout_changes(given.operators, given.nodes, given.graph)
    pairs = find_cancelling(given.operators, given.nodes, given.graph, given.traces[0])
    records = layout_records(changes, pairs)
    rows = {row["identity"]: row for row in parse(records, (*files.MOVEMENT_COLUMNS, "cancels_with", "pair_saves_ms"))}
    assert len(rows) == len(changes)
    assert len(pairs) == 9
    for pair in pairs:
        first, second = rows[pair.first.identity], rows[pair.second.identity]
        assert (first["cancels_with"], second["cancels_with"]) == (pair.second.identity, pair.first.identity)
        assert float(first["pair_saves_ms"]) == pytest.approx(pair.saves_ms)
        assert second["pair_saves_ms"] == ""
    assert len(list(filter(None, (row["cancels_with"] for row in rows.values())))) == 18
    described = records.content["cancelling_pairs"]
    assert isinstance(described, list)
    assert [each["first"] for each in described] == [pair.first.identity for pair in pairs]


def test_changes_have_both_sides_and_the_categories(given: TraceSet) -> None:
    baseline = read_traces([RECORDED["small_cnn"]])
    changes = build_operator_changes(baseline.operators, given.operators)
    records = change_records(changes, baseline, given)
    rows = parse(records, files.OPERATOR_COMPARISON_COLUMNS)
    assert len(rows) == len(changes)
    # What one side does not have is empty, not nothing.
    assert {row["baseline_ms"] for row in rows if not row["baseline_identity"]} == {""}
    assert records.content.keys() == {"operators", "categories"}
