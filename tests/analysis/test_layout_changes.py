"""Layout changes of a report: what they move and where they come from, as far as the model's graph is certain."""

from pathlib import Path
from typing import Any

import pytest

from builders import a_session, paired_results
from etprof.analysis.layout_changes import find_nodes
from etprof.analysis.model_graph import ModelGraph, parse_graph
from etprof.analysis.summary import build_report
from report_builder import a_trace


def a_node(index: int, kind: str, module: str, shape: list[int], to: list[int] | None = None) -> dict[str, Any]:
    tensor = {"dtype": "fp32"}
    return {
        "index": index,
        "type": kind,
        "debug_handle": index + 1,
        "inputs": [{**tensor, "shape": shape}],
        "outputs": [{**tensor, "shape": to or shape}],
        "module_path": module,
    }


@pytest.fixture
def graph() -> ModelGraph:
    image, back = [1, 8, 8, 16], [1, 16, 8, 8]
    first = [
        a_node(0, "XNNConv2d", "stem.conv", image),
        a_node(1, "XNNStaticTranspose", "stem.permute", image, back),
        a_node(2, "XNNFullyConnected", "head.fc", [1, 16]),
    ]
    second = [
        a_node(0, "XNNStaticTranspose", "tail.permute", back, image),
        a_node(1, "XNNAdd", "tail.add", image),
        a_node(2, "XNNSoftmax", "tail.softmax", image),
    ]
    partitions = [{"index": i, "nodes": nodes} for i, nodes in enumerate((first, second))]
    return parse_graph({"schema_version": 1, "partitions": partitions, "undelegated": []}, "graph.json")


def test_rows_carry_module_shape_bytes_and_rate(graph: ModelGraph, tmp_path: Path) -> None:
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    traces = {("off", 1): [a_trace(tmp_path, 1.0)], ("on", 1): [a_trace(tmp_path, 0.25)]}
    report = build_report(session, traces, {}, title="t", created_at="now", graph=graph)
    on = report.arms[1]
    row = next(row for row in on.layout_changes if row.module_path == "stem.permute")
    moved = 2 * 1 * 8 * 8 * 16 * 4
    assert (row.kind, row.bytes_moved, row.shape) == ("transpose", moved, "[1, 8, 8, 16] -> [1, 16, 8, 8]")
    assert row.gb_per_s == pytest.approx(moved / (row.mean_ms * 1e6))
    modules = {row.name: row.module_path for row in on.operators}
    assert modules["Convolution (NHWC, F32) IGEMM #1"] == "stem.conv"
    assert modules["native_call_upsample_nearest2d.vec_out"] == ""
    assert [row.mean_ms for row in on.layout_changes] == sorted((r.mean_ms for r in on.layout_changes), reverse=True)


def test_without_a_graph_nothing_is_guessed(tmp_path: Path) -> None:
    assert find_nodes([a_trace(tmp_path, 1.0)], None) == {}
