"""From the fields of XNNPACK's graph schema to our nodes, whether they are being lowered or were read from a file."""

import math
from collections.abc import Mapping
from typing import Any

from etprof.core.graph import GraphNode, TensorSpec, Window

# What XNNPACK's serialiser writes into the slots of inputs a node does not have.
_NO_VALUE = 2**32 - 1
_OUTPUTS = ("output_id", "output_value_id", "output_index_id", *(f"output{i}_id" for i in range(1, 5)))
# What a convolution and what a pooling call the size of their window, and its step.
_KERNELS, _STRIDES = ("kernel", "pooling"), ("subsampling", "stride")
_SIDES = ("top", "right", "bottom", "left")


def build_node(
    index: int,
    type: str,
    fields: Mapping[str, Any],
    values: Mapping[int, TensorSpec],
    *,
    debug_handle: int,
    limits: tuple[float | str, float | str] | None,
) -> GraphNode:
    """`fields` are those of the node's table in the order of the schema, `values` the tensors by their numbers."""
    ids = [(name, number) for name, number in fields.items() if name.endswith("_id") and number != _NO_VALUE]
    return GraphNode(
        index=index,
        type=type,
        debug_handle=debug_handle,
        perm=tuple(int(axis) for axis in fields.get("perm", ())),
        output_min=_limit(limits[0]) if limits else None,
        output_max=_limit(limits[1]) if limits else None,
        inputs=tuple(values[number] for name, number in ids if name not in _OUTPUTS and number in values),
        outputs=tuple(values[number] for name, number in ids if name in _OUTPUTS and number in values),
        window=_window(type, fields),
    )


def _window(type: str, fields: Mapping[str, Any]) -> Window | None:
    kernel = _pair(fields, _KERNELS)
    if not kernel:
        return None
    return Window(
        kernel=kernel,
        # An argmax pooling steps by its own size.
        stride=_pair(fields, _STRIDES) or kernel,
        padding=tuple(fields[f"padding_{side}"] for side in _SIDES),
        dilation=_pair(fields, ("dilation",)) or (1, 1),
        groups=fields.get("groups", 1),
        transposed=type == "XNNConvTranspose2d",
    )


def _pair(fields: Mapping[str, Any], names: tuple[str, ...]) -> tuple[int, ...]:
    """Height and width under the first of these names that the node has."""
    name = next((each for each in names if f"{each}_height" in fields), "")
    return tuple(int(fields[f"{name}_{side}"]) for side in ("height", "width")) if name else ()


def _limit(value: float | str) -> float | None:
    """A number, or None for an open end, which the serialiser spells as text."""
    number = float(value)
    return number if math.isfinite(number) else None


def build_convolution_window(
    kernel: tuple[int, ...],
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    groups: int,
) -> Window:
    """Of a convolution that was not delegated; one number stands for every direction."""
    return Window(
        kernel=kernel,
        stride=stride * (len(kernel) // len(stride)),
        padding=(padding[0], padding[-1], padding[0], padding[-1]),
        dilation=dilation * (len(kernel) // len(dilation)),
        groups=groups,
        transposed=transposed,
    )
