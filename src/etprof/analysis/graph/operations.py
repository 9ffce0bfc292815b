"""Operations of operators that multiply no matrices, by closed forms, and the type of number they are done in."""

from math import prod

from etprof.core.categories import plain_name
from etprof.core.graph import GraphNode, TensorSpec
from etprof.core.peaks import BF16, FP16, FP32, INT8

_FLOATS = {
    "fp32": FP32, "float32": FP32, "float": FP32, "fp16": FP16, "float16": FP16, "half": FP16, "bf16": BF16,
    "bfloat16": BF16, "float64": "fp64", "double": "fp64",
}  # fmt: skip
# XNNPACK names a quantised type by how it is scaled: qint8, qcint8, qdint8, qcint4.
_NARROW = ("int8", "int4", "byte", "char", "bool")

# For each element that is written. A softmax takes the maximum, subtracts, exponentiates, adds and divides; a bilinear
# resize interpolates three times, each with a difference, a product and a sum; a conversion scales and rounds. An
# activation counts as one operation, whatever it is computed by.
_PER_OUTPUT = {"elementwise": 1, "softmax": 5, "resize": 9, "quantise or convert": 2}
_PER_INPUT = {"pooling": 1, "reduction": 1}
# For each element that is read: mean and variance are four, the rest a difference, two products and a sum.
_NORMALISATIONS = {"native_layer_norm": 8, "native_group_norm": 8, "rms_norm": 4}
_BATCH_NORMALISATION = 4
_MOVEMENTS = frozenset(
    {"concat", "copy", "fill", "gather or scatter", "pad", "repeat", "reshape", "slice", "transpose"}
)  # fmt: skip
_BILINEAR = ("XNNStaticResizeBilinear2D", "upsample_bilinear2d", "_upsample_bilinear2d_aa")


def find_type(tensor: TensorSpec | None) -> str:
    """fp32, fp16, bf16, int8 for every narrow integer, or the tensor's own name of another type."""
    if tensor is None:
        return ""
    if any(name in tensor.dtype for name in _NARROW):
        return INT8
    return _FLOATS.get(tensor.dtype, tensor.dtype)


def is_float(data_type: str) -> bool:
    return data_type in _FLOATS.values()


def count_operations(node: GraphNode, kind: str) -> int | None:
    """None for an operator whose kind has no closed form, or whose shapes the graph does not tell."""
    if kind in _MOVEMENTS:
        return 0
    if not node.inputs or not node.outputs:
        return None
    name, read = plain_name(node.type).partition(".")[0], node.inputs[0].elements
    if kind in _PER_OUTPUT and (kind != "resize" or name in _BILINEAR):
        return _PER_OUTPUT[kind] * node.outputs[0].elements
    if kind == "pooling" and node.window:
        return prod(node.window.kernel) * node.outputs[0].elements
    # Without a window, a pooling reads each element at least once.
    return _PER_INPUT[kind] * read if kind in _PER_INPUT else _count_normalisation(name, read)


def _count_normalisation(name: str, read: int) -> int | None:
    each = _BATCH_NORMALISATION if "batch_norm" in name else _NORMALISATIONS.get(name)
    return each * read if each else None
