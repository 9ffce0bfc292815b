"""The graph leads from XNNPACK's nodes back to the model."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph, TensorSpec
from etprof.core.layout import graph_path
from etprof.core.model import Artifact
from etprof.export.exporter import ExportRequest, Quantization, export_model
from etprof.export.graph_file import load_graph
from etprof.traces.program_graph import read_graphs
from shared_exports import SharedExports

pytestmark = pytest.mark.usefixtures("libraries")


def graph_of(artifact: Artifact) -> ModelGraph:
    return load_graph(graph_path(artifact.pte))


@pytest.mark.parametrize("quantization", [None, Quantization(), Quantization("dynamic")])
def test_every_layer_of_the_toy_model_is_found_once(exported: SharedExports, quantization: Quantization | None) -> None:
    graph = graph_of(exported("toy_cnn", quantization=quantization))
    (nodes,) = graph.partitions
    layers = [node.module_path for node in nodes if node.type in ("XNNConv2d", "XNNFullyConnected")]
    assert layers == ["stem", "conv", "token", "reduce", "mix", "head"]


@pytest.mark.parametrize("quantization", [None, Quantization(), Quantization("dynamic")])
def test_the_finished_program_holds_the_same_graph_without_the_way_back(
    exported: SharedExports, quantization: Quantization | None
) -> None:
    artifact = exported("toy_cnn", quantization=quantization)
    graph = without_origins(graph_of(artifact))
    assert read_graphs(artifact.pte) == {"forward": replace(graph, model=artifact.pte.stem)}


def without_origins(graph: ModelGraph) -> ModelGraph:
    def bare(nodes: tuple[GraphNode, ...]) -> tuple[GraphNode, ...]:
        return tuple(replace(node, edge_nodes=(), module_path="", source="") for node in nodes)

    return replace(graph, partitions=tuple(map(bare, graph.partitions)), undelegated=bare(graph.undelegated))


def test_a_node_tells_shapes_constants_limits_and_source(exported: SharedExports) -> None:
    (nodes,) = graph_of(exported("toy_cnn")).partitions
    stem = next(node for node in nodes if node.module_path == "stem")
    assert stem.type == "XNNConv2d"
    assert stem.source == "conv2d"
    assert (stem.output_min, stem.output_max) == (0.0, None)
    assert stem.edge_nodes == ("aten_convolution_default",)
    image, weight, bias = stem.inputs
    assert (image.shape, image.constant) == ((1, 256, 256, 3), False)
    assert (weight.shape, weight.constant, bias.shape) == ((16, 3, 3, 3), True, (16,))
    assert stem.outputs[0].shape == (1, 128, 128, 16)


def test_inserted_transposes_belong_to_no_layer(exported: SharedExports) -> None:
    (nodes,) = graph_of(exported("toy_cnn")).partitions
    inserted = [node for node in nodes if node.debug_handle == NO_HANDLE]
    assert {node.type for node in inserted} == {"XNNStaticTranspose"}
    assert all(node.edge_nodes == () and node.module_path == "" for node in inserted)
    assert all(sorted(node.perm) == list(range(4)) for node in inserted)


SPLIT = """
class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.second = nn.Linear(8, 4)

    def forward(self, x):
        return self.second(self.norm(self.first(x)))

class Model(EagerModelBase):
    def get_eager_model(self):
        return Split()

    def get_example_inputs(self):
        return (torch.randn(2, 8),)
"""


def test_partitions_and_operators_left_out_stand_in_the_order_they_run(
    write_model: Callable[[str, str], Path], models_dir: Path, tmp_path: Path
) -> None:
    write_model("split", SPLIT)
    artifact = export_model(ExportRequest("split", tmp_path / "out", models_dir=models_dir))
    graph = graph_of(artifact)
    assert [[node.module_path for node in nodes] for nodes in graph.partitions] == [["first"], ["second"]]
    (left,) = graph.undelegated
    assert (left.type, left.module_path) == ("aten::native_layer_norm.out", "norm")
    assert left.outputs[0] == TensorSpec((2, 8), "float32")
    assert read_graphs(artifact.pte) == {"forward": replace(without_origins(graph), model=artifact.pte.stem)}
    (operator,) = artifact.meta.delegation.left
    assert operator.reason == "XNNPACK's partitioner has no rule for this operator"
