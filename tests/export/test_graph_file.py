"""A graph is read back as it was written; anything else under its name is refused in one sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import StoreError
from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph, TensorSpec, Window
from etprof.export.graph_file import load_graph, parse_graph, save_graph

IMAGE = TensorSpec((1, 8, 8, 3), "fp32", id=0)
WINDOW = Window(kernel=(3, 3), stride=(1, 1), padding=(1, 1, 1, 1), dilation=(1, 1), groups=1)
GRAPH = ModelGraph(
    "net",
    partitions=(
        (
            GraphNode(
                index=0, type="XNNStaticTranspose", debug_handle=NO_HANDLE, perm=(0, 2, 3, 1),
                inputs=(TensorSpec((1, 3, 8, 8), "fp32", id=4),), outputs=(IMAGE,),
            ),
            GraphNode(
                index=1, type="XNNConv2d", debug_handle=7, output_min=0.0, output_max=None,
                inputs=(IMAGE, TensorSpec((16, 3, 3, 3), "fp32", constant=True, id=1)),
                outputs=(TensorSpec((1, 8, 8, 16), "fp32", id=2),),
                edge_nodes=("aten_convolution_default", "aten_relu_default"), module_path="stem", source="conv2d",
                window=WINDOW,
            ),
        ),
        (),
    ),
    undelegated=(
        GraphNode(
            index=0, type="aten::native_layer_norm.out", edge_nodes=("aten_native_layer_norm_default",),
            module_path="norm", inputs=(TensorSpec((2, 8), "float32"), TensorSpec((8,), "float32", constant=True)),
            outputs=(TensorSpec((2, 8), "float32"),),
        ),
        GraphNode(index=1, type="aten::sin.out"),
    ),
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.graph.json"


def a_document(**changes: Any) -> dict[str, Any]:
    return {"schema_version": 1, "model": "net", "partitions": [], "undelegated": [], **changes}


def test_a_graph_is_read_back_as_it_was_written(path: Path) -> None:
    save_graph(path, GRAPH)
    assert load_graph(path) == GRAPH


def test_the_file_has_its_version_and_numbers_the_partitions(path: Path) -> None:
    save_graph(path, GRAPH)
    content = json.loads(path.read_text())
    assert content["schema_version"] == 2
    assert [partition["index"] for partition in content["partitions"]] == [0, 1]


def test_a_file_of_version_1_is_read_without_what_version_2_added() -> None:
    node = {"index": 0, "type": "XNNConv2d", "inputs": [], "outputs": [{"shape": [1, 8], "dtype": "fp32"}]}
    left = {"index": 0, "operator": "aten::sin.out", "outputs": [{"shape": [1], "dtype": "float32"}]}
    graph = parse_graph(a_document(partitions=[{"index": 0, "nodes": [node]}], undelegated=[left]), "net.graph.json")
    assert graph.partitions[0][0].window is None
    assert graph.undelegated[0].inputs == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not valid JSON"),
        ("", "is not valid JSON"),
        ("[]", "is not a graph file of version 1 or 2"),
        ("{}", "is not a graph file of version 1 or 2"),
        (json.dumps(a_document(schema_version=3)), "is not a graph file of version 1 or 2"),
        (json.dumps({"schema_version": 1, "undelegated": []}), "is not a valid graph file: 'partitions' is missing"),
        (json.dumps(a_document(partitions=[{}])), "is not a valid graph file: 'nodes' is missing"),
        (json.dumps(a_document(partitions=[{"nodes": [{"index": 0}]}])), "valid graph file: 'type' is missing"),
        (json.dumps(a_document(partitions=[{"nodes": ["conv"]}])), "is not a valid graph file: "),
        (json.dumps(a_document(undelegated=[{"index": "x", "operator": "a"}])), "is not a valid graph file: "),
        (
            json.dumps(a_document(partitions=[{"nodes": [{"index": 0, "type": "a", "window": {"kernel": [1]}}]}])),
            "valid graph file: 'stride' is missing",
        ),
        (
            json.dumps(a_document(undelegated=[{"index": 0, "operator": "a", "outputs": [{}]}])),
            "valid graph file: 'shape' is missing",
        ),
        (json.dumps(a_document(undelegated=None)), "is not a valid graph file: "),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_by_name(path: Path, text: str, words: str) -> None:
    path.write_text(text)
    with pytest.raises(StoreError, match=words) as caught:
        load_graph(path)
    assert str(path) in caught.value.message
    assert "--force" in caught.value.hint


def test_bytes_that_are_not_text_are_refused(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoreError, match="is not valid JSON"):
        load_graph(path)


def test_a_file_that_is_not_there_is_refused_with_the_reason(path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read: No such file or directory"):
        load_graph(path)


def test_a_document_from_elsewhere_is_refused_by_its_origin() -> None:
    with pytest.raises(StoreError, match=r"^run/net\.graph\.json is not a graph file"):
        parse_graph({"schema_version": 0}, "run/net.graph.json")
