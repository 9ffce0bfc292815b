"""A small graph and a table of kernels that fits it: what is predicted of each node is known to the tests."""

from collections.abc import Sequence

from etprof.analysis.kernels.cases import find_case
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.predictions import CpuLevel, KernelRow, KernelTable
from graph_builder import a_graph, a_node, a_tensor

CONVOLUTION, DEPTHWISE, LINEAR = (
    a_node(
        0, "XNNConv2d", 1, module="stem",
        inputs=(a_tensor(0, 1, 8, 8, 16), a_tensor(1, 32, 3, 3, 16, constant=True)),
        outputs=(a_tensor(2, 1, 8, 8, 32),),
    ),
    a_node(
        1, "XNNDepthwiseConv2d", 2, module="mix",
        inputs=(a_tensor(2, 1, 8, 8, 32), a_tensor(3, 1, 7, 7, 32, constant=True)),
        outputs=(a_tensor(4, 1, 8, 8, 32),),
    ),
    a_node(
        2, "XNNFullyConnected", 3, module="head",
        inputs=(a_tensor(4, 64, 32), a_tensor(5, 10, 32, constant=True)), outputs=(a_tensor(6, 64, 10),),
    ),
)  # fmt: skip
GELU = a_node(
    0,
    "aten::gelu.out",
    inputs=(a_tensor(None, 1, 8, dtype="float16"),),
    outputs=(a_tensor(None, 1, 8, dtype="float16"),),
    module="act",
)
GRAPH = a_graph((CONVOLUTION, DEPTHWISE, LINEAR), undelegated=(GELU,))


def a_table(on_sme2: Sequence[GraphNode] = (CONVOLUTION,), on_neon: Sequence[GraphNode] = (DEPTHWISE,)) -> KernelTable:
    """Of executorch 1.5.1: these nodes take SME2 and NEON; the table has no row for any other."""
    rows = [_row(node, "SME2") for node in on_sme2] + [_row(node, "NEON") for node in on_neon]
    return KernelTable("1.5.1", "c0ffee", "0" * 64, tuple(rows))


def _row(node: GraphNode, best: str) -> KernelRow:
    families = {level: best if level is CpuLevel.SME2 else "NEON" for level in CpuLevel}
    return KernelRow(find_case(node), families, {})


def without(graph: ModelGraph, *nodes: GraphNode) -> ModelGraph:
    partitions = tuple(tuple(node for node in some if node not in nodes) for some in graph.partitions)
    return ModelGraph(graph.model, partitions, tuple(node for node in graph.undelegated if node not in nodes))
