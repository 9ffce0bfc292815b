"""The files for Model Explorer hold every operator under the id of its node, in the formats that the viewer reads."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etprof.core.graph_view import MODULES, Quantity
from etprof.core.report import Report
from etprof.reports import FORMATS
from report_builder import a_report, emulated, hostile, untraced, with_graph

FORMAT = FORMATS["model-explorer"]
# The keys of Model Explorer's own types, graph_builder.GraphNode and node_data_builder.GraphNodeData.
NODE_KEYS = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"}
OWN = "etprof model forward"


def graph_of(report: Report) -> dict[str, Any]:
    collection = json.loads(FORMAT.render(report))
    assert collection["label"] == report.model
    (graph,) = collection["graphs"]
    found: dict[str, Any] = graph
    return found


def data_of(report: Report) -> dict[str, dict[str, Any]]:
    return {name: json.loads(content) for name, content in FORMAT.render_files(report).items()}


def test_the_graph_has_a_node_for_everything_in_its_module(tmp_path: Path) -> None:
    graph = graph_of(with_graph(tmp_path))
    assert graph["id"] == OWN
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert all(set(node) == NODE_KEYS for node in nodes.values())
    assert nodes["call0.node2"]["namespace"] == "stem/token/linear"
    assert nodes["call0.node1"]["incomingEdges"] == [
        {"sourceNodeId": "call0.node0", "sourceNodeOutputId": "0", "targetNodeInputId": "0"}
    ]
    assert nodes["call0.node0"]["outputsMetadata"] == [
        {"id": "0", "attrs": [{"key": "shape", "value": "1x64x64x192"}, {"key": "dtype", "value": "fp32"}]}
    ]
    attributes = {entry["key"]: entry["value"] for entry in nodes["call0.node0"]["attrs"]}
    assert attributes["module"] == "stem.conv"
    assert float(attributes["off, 1 thread: time (ms)"]) == pytest.approx(3.0, rel=0.01)
    assert float(attributes["on against off (1 thread): speed-up"]) == pytest.approx(4.0, rel=0.01)


def test_there_is_a_file_of_node_data_for_each_quantity_of_each_variant(tmp_path: Path) -> None:
    data = data_of(with_graph(tmp_path))
    assert list(data) == [
        f"model_explorer/{name}.json"
        for name in ("off_t1_time", "off_t1_share", "on_t1_time", "on_t1_share", "on_t1_against_off_t1_speedup")
    ]
    time = data["model_explorer/on_t1_time.json"]
    assert {graph["name"] for graph in time.values()} == {"on, 1 thread: time (ms)"}
    assert set(time) == {OWN, "forward", "model.pte::forward_0_0", "model.pte::forward_0_2"}
    assert set(time["forward"]["results"]) == {"forward_0_0", "forward_0_1", "forward_0_2"}
    assert set(time["model.pte::forward_0_0"]["results"]) == {"0", "1", "2"}
    assert [stop["stop"] for stop in time[OWN]["gradient"]] == [0, 1]
    speedup = data["model_explorer/on_t1_against_off_t1_speedup.json"]["forward"]
    assert [step["value"] for step in speedup["thresholds"]] == sorted(step["value"] for step in speedup["thresholds"])


def test_every_operators_time_is_found_by_the_id_of_its_node(tmp_path: Path) -> None:
    report = with_graph(tmp_path)
    nodes = {node["id"] for node in graph_of(report)["nodes"]}
    for variant in report.variants:
        results = data_of(report)[f"model_explorer/{variant.variant.stem}_time.json"][OWN]["results"]
        assert set(results) == nodes
        total = sum(result["value"] for result in results.values())
        assert total == pytest.approx(sum(row.mean_ms for row in variant.operators), rel=1e-5)


def test_a_kernel_class_has_the_colour_it_has_elsewhere(tmp_path: Path) -> None:
    report = with_graph(tmp_path)
    (view,) = report.views
    time = view.overlays[0]
    kernels = replace(time, quantity=Quantity.KERNELS, values={MODULES: {"call0.node0": "SME", "operator0": "other"}})
    data = data_of(replace(report, views=(replace(view, overlays=(kernels,)),)))
    results = data["model_explorer/off_t1_kernels.json"][OWN]["results"]
    assert results == {
        "call0.node0": {"value": "SME", "bgColor": "#f7b267"},
        "operator0": {"value": "other", "bgColor": "#d0d7de"},
    }


@pytest.mark.parametrize(("build", "reason"), [(untraced, "recorded a trace"), (emulated, "emulated")])
def test_what_is_missing_is_said_in_the_file(build: Any, reason: str, tmp_path: Path) -> None:
    assert reason in FORMAT.render(build(tmp_path))
    assert not [name for name in FORMAT.render_files(build(tmp_path)) if "time" in name]


def test_hostile_names_are_text(tmp_path: Path) -> None:
    report = hostile(tmp_path)
    assert any("<script>" in node["label"] for node in graph_of(report)["nodes"])
    assert data_of(report)


def test_a_report_without_the_models_graph_has_its_operators_as_nodes(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    labels = [node["label"] for node in graph_of(report)["nodes"]]
    assert sorted(labels) == sorted(row.name for row in report.variants[0].operators)
