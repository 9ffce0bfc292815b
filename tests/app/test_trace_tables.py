"""The tables a trace leaves on disk: the columns that are promised, and numbers that agree with the trace."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from csv_rows import read_rows
from etprof.analysis.graph.data_movement import find_cancelling, list_layout_changes
from etprof.analysis.operators.operator_changes import build_operator_changes
from etprof.app.trace_tables import (
    build_classes,
    write_comparison,
    write_layout_changes,
    write_ops_json,
    write_statistics,
    write_timelines,
)
from etprof.app.traces import TraceSet, read_traces
from etprof.core.categories import OVERHEADS, RULES, Rule
from etprof.core.trace import EventKind
from etprof.core.units import NS_PER_MS
from etprof.store import timeline_files as files
from report_builder import a_trace
from trace_builder import RECORDED, recorded, recorded_graph

TRANSFORMER = RECORDED["transformer"]


def test_timelines_have_every_event_and_those_of_the_first_inference(tmp_path: Path) -> None:
    trace = recorded("small_cnn")
    every, first = write_timelines(tmp_path, "x", [trace, trace], model_id="cnn")
    assert [path.name for path in (every, first)] == ["x_all_runs_timeline.csv", "x_run0_timeline.csv"]
    rows = read_rows(every)
    assert tuple(rows[0]) == files.TIMELINE_COLUMNS
    assert len(rows) == 2 * len(trace)
    assert {row["model_id"] for row in rows} == {"cnn"}
    assert len(read_rows(first)) == np.count_nonzero(trace.run == 0)
    labels = {row["name"]: (row["category"], row["delegate_backend"]) for row in rows}
    assert labels["Convolution (NHWC, F32) IGEMM #1"] == ("Convolution", "XnnpackBackend")
    assert labels["DELEGATE_CALL"] == ("", "")


def test_a_users_rules_label_the_timeline(tmp_path: Path) -> None:
    rules = (Rule("^Convolution", "Mine", "all"), *RULES)
    every, _ = write_timelines(tmp_path, "x", [recorded("small_cnn")], rules=rules)
    assert "Mine" in {row["category"] for row in read_rows(every)}


def test_statistics_have_a_row_for_each_operator_and_category(tmp_path: Path) -> None:
    found = read_traces([TRANSFORMER], graph=TRANSFORMER.with_suffix(".graph.json"))
    operators, categories = write_statistics(tmp_path, "x", found.details, found.categories, found.nodes)
    rows = read_rows(operators)
    assert tuple(rows[0]) == files.OPS_STATS_COLUMNS
    (trace,) = found.traces
    is_operator = (trace.run == 0) & np.isin(trace.kind, (EventKind.DELEGATED_OPERATOR, EventKind.PORTABLE_OPERATOR))
    assert len(rows) == np.count_nonzero(is_operator)
    for row in rows:
        assert float(row["min_ms"]) <= float(row["median_ms"]) <= float(row["max_ms"])
        assert float(row["total_ms"]) == pytest.approx(float(row["mean_ms"]) * int(row["count"]))
        # What the whole would gain, were the operator free.
        assert float(row["ceiling_speedup"]) == pytest.approx(1 / (1 - float(row["share"])))
    placed = {row["identity"]: row for row in rows if row["module_path"]}
    assert set(placed) == {identity for identity, node in found.nodes.items() if node.module_path}
    some = next(iter(placed))
    node = next(node for identity, node in found.nodes.items() if identity == some)
    assert placed[some]["output_shape"] == "x".join(map(str, node.outputs[0].shape))
    rows = read_rows(categories)
    assert tuple(rows[0]) == files.CATEGORY_COLUMNS
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1.0)


def test_ops_json_adds_up_and_keeps_notes_and_unmatched_names(tmp_path: Path) -> None:
    found = replace(read_traces([RECORDED["two_methods"]]), rules=())
    path = tmp_path / "x_ops.json"
    write_ops_json(path, found)
    content = json.loads(path.read_text())
    assert content["schema_version"] == files.OPS_JSON_VERSION
    assert content["sources"] == ["two_methods.etdump"]
    assert content["notes"] == list(found.notes)
    assert len(content["operators"]) == len(found.operators)
    whole_ns = content["accounting"]["end_to_end_ns"]
    assert sum(row["total_ms"] for row in content["categories"]) == pytest.approx(whole_ns / NS_PER_MS)
    names = {trace.names[n] for trace in found.traces for n in trace.name[trace.is_operator].tolist()}
    assert set(content["unmatched_names"]) == names, "without a rule nothing matches"


def test_classes_are_accounted_for_like_the_categories_they_belong_to() -> None:
    found = read_traces([TRANSFORMER])
    classes = build_classes(found)
    assert [row.share for _, row in classes] == sorted((row.share for _, row in classes), reverse=True)
    for category in found.categories:
        own = [row for name, row in classes if name == category.name]
        if category.name not in OVERHEADS:
            assert sum(row.total_ns for row in own) == pytest.approx(category.total_ns, abs=len(own))
            assert sum(row.events_per_run for row in own) == pytest.approx(category.events_per_run)
    assert ("GEMM", "fully connected") in [(category, row.name) for category, row in classes]


def test_a_comparison_gives_each_change_and_its_share_of_the_gain(tmp_path: Path) -> None:
    before, after = (TraceSet((Path("x.etdump"),), (a_trace(tmp_path, scale),), RULES) for scale in (1.0, 0.25))
    changes = build_operator_changes(before.operators, after.operators)
    operators, categories = write_comparison(tmp_path, changes, before.categories, after.categories)
    rows = read_rows(operators)
    assert tuple(rows[0]) == files.OPERATOR_COMPARISON_COLUMNS
    assert sum(float(row["share_of_gain"]) for row in rows) == pytest.approx(1.0)
    (convolution,) = [row for row in rows if row["name"].startswith("Convolution")]
    assert float(convolution["speedup"]) == pytest.approx(4.0, rel=0.01)
    assert convolution["baseline_identity"] == convolution["candidate_identity"] == "d0.0"
    rows = read_rows(categories)
    assert tuple(rows[0]) == files.CATEGORY_COMPARISON_COLUMNS
    gains = {row["name"]: float(row["gain_ms"]) for row in rows}
    assert max(gains, key=lambda name: gains[name]) == "Convolution"
    assert sum(float(row["share_of_gain"]) for row in rows) == pytest.approx(1.0)


def test_layout_changes_and_the_pairs_that_cancel_are_tables(tmp_path: Path) -> None:
    found = read_traces([TRANSFORMER], graph=TRANSFORMER.with_suffix(".graph.json"))
    graph = recorded_graph("transformer")
    changes = list_layout_changes(found.operators, found.nodes, graph)
    pairs = find_cancelling(found.operators, found.nodes, graph, found.traces[0])
    every, cancelling = write_layout_changes(tmp_path, "x", changes, pairs)
    rows = read_rows(every)
    assert tuple(rows[0]) == files.MOVEMENT_COLUMNS
    assert [row["name"] for row in rows] == [change.name for change in changes]
    assert "transpose" in {row["subcategory"] for row in rows}
    rows = read_rows(cancelling)
    assert tuple(rows[0]) == files.PAIR_COLUMNS
    assert [(row["first"], row["second"]) for row in rows] == [(p.first.identity, p.second.identity) for p in pairs]
