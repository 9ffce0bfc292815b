"""Which events each kind of graph node may leave in a trace, as XNNPACK's optimiser and the runtime do it."""

import re
from collections.abc import Mapping, Sequence
from itertools import product

from etprof.core.categories import plain_name
from etprof.core.graph import GraphNode, TensorSpec

PACK, CLAMP, CONVERT = "Pack LH", "Clamp", "Convert"
# A table look-up that replaces a unary operator between two conversions.
TABLE_LOOKUP = "Invalid Unary Op"
# Of a kernel that does not record its name.
UNNAMED_CALL = "OPERATOR_CALL"

_CONVOLUTIONS = ("Convolution", "Fully Connected")
_UNARY = {
    "XNNAbs": "Abs",
    "XNNCeiling": "Ceiling",
    "XNNCos": "Cosine",
    "XNNELU": "ELU",
    "XNNExp": "Exp",
    "XNNFloor": "Floor",
    "XNNHardswish": "HardSwish",
    "XNNLeakyReLU": "LeakyReLU",
    "XNNLog": "Log",
    "XNNNegate": "Negate",
    "XNNReciprocalSquareRoot": "Reciprocal Square Root",
    "XNNSigmoid": "Sigmoid",
    "XNNSin": "Sine",
    "XNNSquare": "Square",
    "XNNSquareRoot": "Square Root",
    "XNNTanh": "TanH",
}
EVENTS: dict[str, tuple[str, ...]] = {
    "XNNAdd": ("Add",),
    "XNNArgMaxPooling2d": ("ArgMax Pooling",),
    "XNNAvgPooling2d": ("Average Pooling",),
    "XNNBatchMatrixMultiply": ("Batch Matrix Multiply",),
    "XNNClamp": (CLAMP,),
    "XNNConcatenate2": ("Copy", "Concatenate"),
    "XNNConcatenate3": ("Copy", "Concatenate"),
    "XNNConcatenate4": ("Copy", "Concatenate"),
    "XNNConcatenate5": ("Copy", "Concatenate"),
    "XNNConv2d": _CONVOLUTIONS,
    "XNNConvTranspose2d": ("Deconvolution",),
    "XNNConvert": (CONVERT,),
    "XNNCopy": ("Copy",),
    "XNNDepthwiseConv2d": ("Convolution",),
    "XNNDiv": ("Divide",),
    "XNNFullyConnected": ("Fully Connected", "Dynamic Fully Connected"),
    "XNNGelu": ("GELU", "ApproxGELU", TABLE_LOOKUP),
    "XNNGlobalAvgPooling2d": ("Mean",),
    "XNNMaxPooling2d": ("Max Pooling",),
    "XNNMaximum": ("Maximum",),
    "XNNMinimum": ("Minimum",),
    "XNNMultiply": ("Multiply",),
    "XNNPReLU": ("PReLU",),
    "XNNSoftmax": ("Softmax",),
    "XNNStaticConstantPad": ("Constant Pad",),
    "XNNStaticReshape": ("Static Reshape",),
    "XNNStaticResizeBilinear2D": ("Resize Bilinear",),
    "XNNStaticSlice": ("Slice",),
    "XNNStaticTranspose": ("Transpose",),
    "XNNSubtract": ("Subtract",),
    **{node: (event, TABLE_LOOKUP) for node, event in _UNARY.items()},
}
_BINARY = frozenset({"XNNAdd", "XNNDiv", "XNNMaximum", "XNNMinimum", "XNNMultiply", "XNNSubtract"})
_ONE_TO_ONE = frozenset({"XNNClamp", "XNNConvert", "XNNGelu", *_UNARY})
# Fused into the operator before them, or into a table look-up together with it.
OPTIONAL = frozenset({"XNNClamp", "XNNConvert"})
# Nodes whose left-hand side may be packed or quantised by an operator of its own.
PACKABLE = frozenset({"XNNConv2d", "XNNFullyConnected", "XNNBatchMatrixMultiply"})

_DETAILS = re.compile(r" (?:\(|#).*$")


def plain_event(name: str) -> str:
    """The kind of operator in an event's name: no layout, data type, kernel or counter."""
    return _DETAILS.sub("", plain_name(name))


def find_alternatives(nodes: Sequence[GraphNode]) -> list[tuple[tuple[str, ...], ...]]:
    """For each node of a partition, every sequence of events it may leave; none for a kind that is not known."""
    made_by = {tensor.id: node for node in nodes for tensor in node.outputs if tensor.id is not None}
    return [_list_options(node, nodes[at + 1 :], made_by) for at, node in enumerate(nodes)]


def _list_options(
    node: GraphNode, later: Sequence[GraphNode], made_by: Mapping[int, GraphNode]
) -> tuple[tuple[str, ...], ...]:
    before: list[tuple[str, ...]] = [(), (PACK,), (CONVERT,)] if node.type in PACKABLE else [()]
    after: list[tuple[str, ...]] = [(), (CLAMP,)] if node.is_clamped and node.type != "XNNClamp" else [()]
    options = [(*b, event, *a) for b, event, a in product(before, _list_events(node), after)]
    if _is_of_one_tensor(node, made_by):
        return (*options, ())
    return (*options, ()) if _may_vanish(node, later) else tuple(options)


def _list_events(node: GraphNode) -> tuple[str, ...]:
    events = EVENTS.get(node.type, ())
    factors = [tensor.id for tensor in node.inputs]
    squares = node.type == "XNNMultiply" and len(factors) == 2 and factors[0] is not None and factors[0] == factors[1]
    return (*events, "Square") if squares else events


def _is_of_one_tensor(node: GraphNode, made_by: Mapping[int, GraphNode]) -> bool:
    """Whether it combines a quantised tensor with a function of the same one, such as x * sigmoid(x).

    Such operators become one table look-up.
    """
    if node.type not in _BINARY:
        return False
    roots = {_find_root(tensor, made_by) for tensor in node.inputs if not tensor.constant}
    return len(roots) == 1 and all(root.id is not None and root.dtype.startswith("q") for root in roots)


def _find_root(tensor: TensorSpec, made_by: Mapping[int, GraphNode]) -> TensorSpec:
    """What a tensor was made from element by element."""
    for _ in made_by:
        maker = made_by.get(tensor.id) if tensor.id is not None else None
        if maker is None or maker.type not in _ONE_TO_ONE or not maker.inputs:
            break
        tensor = maker.inputs[0]
    return tensor


def _may_vanish(node: GraphNode, later: Sequence[GraphNode]) -> bool:
    if node.type == "XNNStaticReshape":
        # Of two reshapes in a row only the second is carried out.
        return any(other.type == "XNNStaticReshape" and _feeds(node, other) for other in later)
    if node.type == "XNNStaticTranspose":
        # A product reads its right-hand side transposed by itself.
        shapes = [tensor.shape for tensor in (*node.inputs[:1], *node.outputs[:1])]
        swaps_last = len(shapes) == 2 and shapes[0] == (*shapes[1][:-2], *shapes[1][:-3:-1])
        return swaps_last and any(other.type == "XNNBatchMatrixMultiply" and _feeds(node, other) for other in later)
    return node.type in OPTIONAL


def _feeds(node: GraphNode, other: GraphNode) -> bool:
    """Whether the other reads what this node makes; by shape where the graph does not number its tensors."""
    for made, read in product(node.outputs, other.inputs):
        if made.id is None or read.id is None:
            if made.shape == read.shape:
                return True
        elif made.id == read.id:
            return True
    return False


def find_portable_alternatives(node: GraphNode) -> tuple[tuple[str, ...], ...]:
    """A kernel records its operator's name; one that was registered by hand records the call alone."""
    return ((plain_event(node.type),), (UNNAMED_CALL,))
