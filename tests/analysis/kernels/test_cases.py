"""What of a node decides on its kernel."""

import pytest

from etprof.analysis.kernels.cases import find_case, is_compute
from etprof.core.graph import GraphNode, TensorSpec
from etprof.core.predictions import KernelCase
from kernel_case_builder import a_layer

IMAGE = (1, 12, 12, 32)


@pytest.mark.parametrize(
    ("node", "operator", "shape"),
    [
        (a_layer("XNNConv2d", IMAGE, (48, 3, 3, 32), (1, 12, 12, 48)), "convolution", "many rows"),
        (a_layer("XNNConv2d", (1, 8, 8, 32), (48, 8, 8, 32), (1, 1, 1, 48)), "convolution", "one row"),
        (a_layer("XNNConv2d", IMAGE, (48, 1, 1, 32), (1, 12, 12, 48)), "fully connected", "many rows"),
        (a_layer("XNNConv2d", (1, 1, 1, 32), (48, 1, 1, 32), (1, 1, 1, 48)), "fully connected", "one row"),
        (a_layer("XNNConv2d", IMAGE, (48, 1, 1, 32), (1, 6, 6, 48)), "convolution", "many rows"),
        (a_layer("XNNConv2d", IMAGE, (48, 3, 3, 8), (1, 12, 12, 48)), "grouped convolution", "many rows"),
        (a_layer("XNNDepthwiseConv2d", IMAGE, (1, 3, 3, 32), IMAGE), "depthwise convolution", "up to 25 taps"),
        (a_layer("XNNDepthwiseConv2d", IMAGE, (1, 5, 5, 32), IMAGE), "depthwise convolution", "up to 25 taps"),
        (a_layer("XNNDepthwiseConv2d", IMAGE, (1, 7, 7, 32), IMAGE), "depthwise convolution", "more than 25 taps"),
        (a_layer("XNNDepthwiseConv2d", IMAGE, (1, 1, 1, 32), IMAGE), "depthwise convolution", "1 tap"),
        (
            a_layer("XNNDepthwiseConv2d", IMAGE, (1, 3, 3, 64), (1, 12, 12, 64)),
            "depthwise convolution",
            "several outputs per channel",
        ),
        (a_layer("XNNConvTranspose2d", IMAGE, (24, 2, 2, 32), (1, 24, 24, 24)), "transposed convolution", "one group"),
        (a_layer("XNNConvTranspose2d", IMAGE, (24, 2, 2, 8), (1, 24, 24, 24)), "transposed convolution", "grouped"),
        (a_layer("XNNFullyConnected", (1, 64, 32), (48, 32), (1, 64, 48)), "fully connected", "many rows"),
        (a_layer("XNNFullyConnected", (1, 1, 32), (48, 32), (1, 1, 48)), "fully connected", "one row"),
        (
            a_layer("XNNBatchMatrixMultiply", (4, 1, 32), (4, 32, 48), (4, 1, 48), constant=False),
            "batch matrix multiply",
            "one row",
        ),
    ],
)
def test_a_layer_has_a_kind_and_a_class_of_shapes(node: GraphNode, operator: str, shape: str) -> None:
    found = find_case(node)
    assert (found.operator, found.shape) == (operator, shape)
    assert is_compute(node)


def test_types_and_computed_weights_are_part_of_it() -> None:
    types = ("qdint8", "qcint8", "fp32")
    node = a_layer("XNNFullyConnected", (64, 32), (48, 32), (64, 48), types, constant=False)
    assert find_case(node) == KernelCase("fully connected", "qdint8", "fp32", "qcint8", False, "many rows")


@pytest.mark.parametrize("type", ["XNNAdd", "XNNSoftmax", "aten::add.out"])
def test_other_operators_are_told_by_their_type_and_data_type(type: str) -> None:
    node = GraphNode(index=0, type=type, inputs=(TensorSpec((4,), "fp16"),), outputs=(TensorSpec((4,), "fp16"),))
    assert find_case(node) == KernelCase(type, "fp16", "fp16")
    assert not is_compute(node)


def test_products_outside_of_the_delegate_compute_too() -> None:
    node = GraphNode(index=0, type="aten::bmm.out", inputs=(TensorSpec((4, 4, 4), "float32"),) * 2)
    assert is_compute(node)
    assert find_case(node).operator == "aten::bmm.out"
