"""What of a graph node decides on its kernel: the case that the probed table has a row for."""

from math import prod

from etprof.core.categories import COMPUTE, categorize
from etprof.core.graph import GraphNode
from etprof.core.predictions import KernelCase

CONVOLUTION, GROUPED, DEPTHWISE = "convolution", "grouped convolution", "depthwise convolution"
TRANSPOSED = "transposed convolution"
FULLY_CONNECTED, BATCHED = "fully connected", "batch matrix multiply"
ONE_ROW, MANY_ROWS = "one row", "many rows"
# XNNPACK's kernels for depthwise convolutions reach so far; larger windows run as one product for each channel.
_MOST_TAPS = 25
ONE_TAP, FEW_TAPS, MANY_TAPS = "1 tap", f"up to {_MOST_TAPS} taps", f"more than {_MOST_TAPS} taps"
_PRODUCTS = {"XNNFullyConnected": FULLY_CONNECTED, "XNNBatchMatrixMultiply": BATCHED}
_CONVOLUTIONS = frozenset({"XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d"})


def is_compute(node: GraphNode) -> bool:
    """Whether the node convolves or multiplies matrices, in the delegate or outside of it."""
    delegated = node.type in _CONVOLUTIONS or node.type in _PRODUCTS
    return delegated or (not node.type.startswith("XNN") and categorize(node.type).name in COMPUTE)


def find_case(node: GraphNode) -> KernelCase:
    inputs = next((tensor for tensor in node.inputs if not tensor.constant), None)
    outputs = node.outputs[0].dtype if node.outputs else ""
    has_weights = len(node.inputs) > 1 and node.outputs
    if not has_weights or (node.type not in _CONVOLUTIONS and node.type not in _PRODUCTS):
        return KernelCase(node.type, inputs.dtype if inputs else "", outputs)
    operator, shape = _describe_convolution(node) if node.type in _CONVOLUTIONS else _describe_product(node)
    weights = node.inputs[1]
    return KernelCase(operator, node.inputs[0].dtype, outputs, weights.dtype, weights.constant, shape)


def describe_case(case: KernelCase) -> str:
    weights = f", weights of type {case.weights}" if case.weights else ""
    computed = "" if case.constant_weights else " that are computed"
    shape = f", {case.shape}" if case.shape else ""
    return f"{case.operator} with inputs of type {case.inputs}{weights}{computed}{shape}"


def _describe_product(node: GraphNode) -> tuple[str, str]:
    """A batch matrix multiply has the rows of one of its products; a fully connected layer has all of them in one."""
    shape = node.inputs[0].shape
    rows = shape[-2:-1] if node.type == "XNNBatchMatrixMultiply" else shape[:-1]
    return _PRODUCTS[node.type], _count_rows(rows)


def _describe_convolution(node: GraphNode) -> tuple[str, str]:
    """Filters are (outputs, height, width, inputs of a group); those of a depthwise one (1, height, width, outputs).

    Where the data is quantised as the model runs, its shape has the channels in second place, not in the last.
    """
    data, weights, output = node.inputs[0], node.inputs[1].shape, node.outputs[0]
    taps = prod(weights[1:-1])
    if node.type == "XNNDepthwiseConv2d":
        channels = node.window.groups if node.window else data.shape[-1]
        return DEPTHWISE, _count_taps(taps) if weights[-1] == channels else "several outputs per channel"
    groups = node.window.groups if node.window else max(data.shape[-1] // weights[-1], 1)
    if node.type == "XNNConvTranspose2d":
        return TRANSPOSED, "grouped" if groups > 1 else "one group"
    rows = ONE_ROW if output.elements == weights[0] else MANY_ROWS
    if groups > 1:
        return GROUPED, rows
    # XNNPACK turns what needs no window into a fully connected layer: what moves by one and adds no border.
    is_pointwise = taps == 1 and data.elements // weights[-1] == output.elements // weights[0]
    return FULLY_CONNECTED if is_pointwise else CONVOLUTION, rows


def _count_taps(taps: int) -> str:
    return ONE_TAP if taps == 1 else FEW_TAPS if taps <= _MOST_TAPS else MANY_TAPS


def _count_rows(sizes: tuple[int, ...]) -> str:
    return ONE_ROW if prod(sizes) == 1 else MANY_ROWS
