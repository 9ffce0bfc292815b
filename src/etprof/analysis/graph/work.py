"""The work model: from a graph node to its kind of layer, its shapes, its multiply-accumulates and its bytes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from etprof.analysis.graph.event_patterns import EVENTS, plain_event
from etprof.analysis.graph.operations import count_operations, find_type, is_float
from etprof.core.categories import COMPUTE, CONVOLUTION, ELEMENTWISE, GEMM, UNMATCHED, categorize, plain_name
from etprof.core.graph import GraphNode, ModelGraph, TensorSpec
from etprof.core.rows import OperatorRow
from etprof.core.work import Work, rate_gmac_per_s

_LINEAR, _ELEMENTWISE, _SLICE, _ATTENTION = "linear", "elementwise", "slice", "attention"
# Kinds of layers that the name of an operator tells, by its finer class; the other classes are kinds themselves.
_KINDS_OF_CLASSES = {
    (CONVOLUTION, "depthwise"): "depthwise convolution",
    (CONVOLUTION, "transposed"): "transposed convolution",
    (GEMM, "pointwise run as GEMM"): "1x1 convolution",
    (GEMM, "fully connected"): _LINEAR,
}
_KINDS_OF_NODES = {
    "XNNArgMaxPooling2d": "pooling",
    "XNNAvgPooling2d": "pooling",
    "XNNConcatenate2": "concat",
    "XNNConcatenate3": "concat",
    "XNNConcatenate4": "concat",
    "XNNConcatenate5": "concat",
    "XNNConvert": "quantise or convert",
    "XNNCopy": "copy",
    "XNNGlobalAvgPooling2d": "reduction",
    "XNNMaxPooling2d": "pooling",
    "XNNSoftmax": "softmax",
    "XNNStaticConstantPad": "pad",
    "XNNStaticReshape": "reshape",
    "XNNStaticResizeBilinear2D": "resize",
    "XNNStaticSlice": _SLICE,
    "XNNStaticTranspose": "transpose",
}


@dataclass(frozen=True)
class _Compute:
    """A node that multiplies and accumulates: its kind, where its input and weights are, and how many of them."""

    kind: str
    macs: int
    data: TensorSpec
    weight: TensorSpec


def build_work(node: GraphNode) -> Work:
    compute = _describe_compute(node)
    kind = compute.kind if compute else _find_kind(node)
    data = compute.data if compute else next((tensor for tensor in node.inputs if not tensor.constant), None)
    macs = compute.macs if compute else 0 if _multiplies_nothing(node) else None
    operations = 2 * macs if macs else count_operations(node, kind) if macs == 0 else None
    data_type = find_type(data or (node.outputs[0] if node.outputs else None))
    flops, integers = (operations, 0) if is_float(data_type) else (0, operations)
    return Work(
        kind=kind,
        input_shape=data.shape if data else (),
        weight_shape=compute.weight.shape if compute else (),
        output_shape=node.outputs[0].shape if node.outputs else (),
        macs=macs,
        minimal_bytes=_count_bytes(node, kind),
        flops=flops,
        integer_operations=integers,
        data_type=data_type,
    )


def add_work(row: OperatorRow, node: GraphNode | None) -> OperatorRow:
    """The operator with the module and the work of its node. Packing its input or clamping its output is not its work.

    Without a node its name tells the kind of layer, and nothing else is known.
    """
    kind = name_kind(row.category, row.subcategory)
    if node is None:
        return replace(row, kind=kind)
    if not _is_main_event(row.name, node):
        return replace(row, kind=kind, module_path=node.module_path)
    work = build_work(node)
    return replace(
        row,
        kind=work.kind,
        module_path=node.module_path,
        work=work,
        gmac_per_s=rate_gmac_per_s(work.macs, row.mean_ms),
    )


def name_kind(category: str, subcategory: str) -> str:
    """The kind of layer as far as the name of an operator tells it."""
    if category == ELEMENTWISE:
        return _ELEMENTWISE
    return _KINDS_OF_CLASSES.get((category, subcategory), subcategory)


def count_macs(graph: ModelGraph) -> int:
    """Multiply-accumulates of one inference, as far as they are known."""
    nodes = [node for nodes in (*graph.partitions, graph.undelegated) for node in nodes]
    return sum(build_work(node).macs or 0 for node in nodes)


def _is_main_event(name: str, node: GraphNode) -> bool:
    return node.type not in EVENTS or plain_event(name) in EVENTS[node.type]


def _find_kind(node: GraphNode) -> str:
    if node.type in _KINDS_OF_NODES:
        return _KINDS_OF_NODES[node.type]
    if node.type in EVENTS:
        return _ELEMENTWISE
    category = categorize(node.type)
    return name_kind(category.name, category.subcategory)


def _multiplies_nothing(node: GraphNode) -> bool:
    """Whether it is known to; an attention or an operator that nobody knows may multiply a lot."""
    if node.type in EVENTS:
        return node.type not in _COMPUTE
    category = categorize(node.type)
    return category.name not in COMPUTE and category.subcategory not in (UNMATCHED, _ATTENTION)


def _describe_compute(node: GraphNode) -> _Compute | None:
    """None for a node that multiplies nothing, or whose operands the graph does not tell."""
    describe = _COMPUTE.get(node.type) or _COMPUTE.get(plain_name(node.type).partition(".")[0])
    if describe is None or len(node.inputs) < 2 or not node.outputs:
        return None
    return describe(node)


def _delegated_convolution(node: GraphNode) -> _Compute:
    """Filters are (outputs, height, width, inputs of a group); those of a depthwise one (1, height, width, outputs)."""
    data, weight = node.inputs[:2]
    is_depthwise = node.type == "XNNDepthwiseConv2d"
    per_group = 1 if is_depthwise else weight.shape[-1]
    return _convolution(
        node,
        kernel=weight.shape[1:-1],
        channels=(data.shape[-1], node.outputs[0].shape[-1]),
        groups=max(data.shape[-1] // per_group, 1),
        transposed=node.type == "XNNConvTranspose2d",
    )


def _portable_convolution(node: GraphNode) -> _Compute | None:
    """Channels are the second dimension; the filters' shape alone does not tell a transposed one from another."""
    if node.window is None:
        return None
    return _convolution(
        node,
        kernel=node.window.kernel,
        channels=(node.inputs[0].shape[1], node.outputs[0].shape[1]),
        groups=node.window.groups,
        transposed=node.window.transposed,
    )


def _convolution(
    node: GraphNode, *, kernel: Sequence[int], channels: tuple[int, int], groups: int, transposed: bool
) -> _Compute:
    """Each output reads a window of its group's inputs; transposed, each input writes a window of its outputs."""
    data, weight = node.inputs[:2]
    inputs, outputs = channels
    visited, depth = (data, outputs) if transposed else (node.outputs[0], inputs)
    macs = visited.elements * prod(kernel) * (depth // groups)
    size = "x".join(map(str, kernel))
    if groups > 1 and inputs == groups:
        return _Compute(f"{'transposed ' if transposed else ''}depthwise {size}", macs, data, weight)
    form = "transposed" if transposed else "grouped" if groups > 1 else ""
    return _Compute(f"{form} {size} convolution".strip(), macs, data, weight)


def _product(kind: str, operand: int = 0) -> Callable[[GraphNode], _Compute]:
    """Each output sums over the last dimension of the left-hand side, which is this input."""

    def describe(node: GraphNode) -> _Compute:
        left, right = node.inputs[operand : operand + 2]
        return _Compute(kind, node.outputs[0].elements * left.shape[-1], left, right)

    return describe


def _describe_attention(node: GraphNode) -> _Compute | None:
    """Each row of the queries with each row of the keys, and the weights with the values; a mask saves nothing."""
    if len(node.inputs) < 3:
        return None
    query, key, value = node.inputs[:3]
    macs = prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    return _Compute(_ATTENTION, macs, query, key)


_BATCHED = "batch matrix multiply"
_COMPUTE: dict[str, Callable[[GraphNode], _Compute | None]] = {
    "XNNConv2d": _delegated_convolution,
    "XNNDepthwiseConv2d": _delegated_convolution,
    "XNNConvTranspose2d": _delegated_convolution,
    "XNNFullyConnected": _product(_LINEAR),
    "XNNBatchMatrixMultiply": _product(_BATCHED),
    "convolution": _portable_convolution,
    "linear": _product(_LINEAR),
    "mm": _product(_LINEAR),
    "addmm": _product(_LINEAR, operand=1),
    "bmm": _product(_BATCHED),
    "baddbmm": _product(_BATCHED, operand=1),
    "scaled_dot_product_attention": _describe_attention,
    "_scaled_dot_product_flash_attention_for_cpu": _describe_attention,
}
# What picks rows out of its first input, and which ones: the others are not read.
_PICKING = ("embedding", "index", "index_select", "gather")


def _count_bytes(node: GraphNode, kind: str) -> int | None:
    """A slice reads no more than it writes; every other operator reads all of its inputs."""
    read = node.outputs if kind == _SLICE else node.inputs
    if plain_name(node.type).partition(".")[0] in _PICKING:
        read = (*node.outputs, *node.inputs[1:])
    sizes = [tensor.bits for tensor in (*read, *node.outputs)]
    known = [size for size in sizes if size is not None]
    return sum(known) // 8 if node.inputs and len(known) == len(sizes) else None
