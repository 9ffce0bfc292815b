"""Builds payloads of the XNNPACK delegate node by node, as ExecuTorch's serialiser lays them out."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from etdump_builder import Writer
from etprof.traces.xnnpack_payload import DATA_TYPES, NODE_TYPES, fields_of
from program_builder import FLOAT32, Call, Method, Tensor

NO_VALUE = 2**32 - 1


@dataclass(frozen=True)
class Value:
    """`quantized` wraps it as the schema does with tensors that have a scale."""

    id: int
    dims: tuple[int, ...]
    dtype: str = "fp32"
    constant: bool = False
    quantized: bool = False


@dataclass(frozen=True)
class Node:
    """`fields` by the names of the schema; those that are not given are zero."""

    type: str
    fields: dict[str, int | tuple[int, ...]] = field(default_factory=dict)
    handle: int = 1
    limits: tuple[float, float] | None = None


def build_payload(values: Sequence[Value], nodes: Sequence[Node], *, header: bool = True) -> bytes:
    """Behind the header that tells where the graph lies, or the graph alone as older versions wrote it."""
    writer = Writer(bytearray())
    root = writer.hole()
    writer.data += b"XN01"
    graph = writer.table(root, {1: 4, 2: 4})
    for hole, node in zip(writer.vector(graph[1], len(nodes)), nodes, strict=True):
        _write_node(writer, hole, node)
    for hole, value in zip(writer.vector(graph[2], len(values)), values, strict=True):
        _write_value(writer, hole, value)
    content = bytes(writer.data)
    if not header:
        return content
    start = 32
    head = bytes(4) + b"XH00" + struct.pack("<HIIIQ", 30, start, len(content), start + len(content), 0)
    return head.ljust(start, b"\0") + content


def _write_node(writer: Writer, hole: int, node: Node) -> None:
    limits = {3: 4} if node.limits else {}
    fields = writer.table(hole, {1: 4, 2: 4, **limits, 0: 1})
    writer.data[fields[0]] = NODE_TYPES.index(node.type)
    struct.pack_into("<I", writer.data, fields[2], node.handle)
    names = fields_of(node.type)
    table = writer.table(fields[1], {names.index(name): 4 for name in node.fields})
    for name, value in node.fields.items():
        at = table[names.index(name)]
        if isinstance(value, int):
            struct.pack_into("<I", writer.data, at, value)
        else:
            _write_list(writer, at, value)
    if node.limits:
        low, high = writer.table(fields[3], {0: 4, 1: 4}).values()
        struct.pack_into("<f", writer.data, low, node.limits[0])
        struct.pack_into("<f", writer.data, high, node.limits[1])


def _write_value(writer: Writer, hole: int, value: Value) -> None:
    fields = writer.table(hole, {1: 4, 0: 1})
    writer.data[fields[0]] = 2 if value.quantized else 1
    place = writer.table(fields[1], {0: 4})[0] if value.quantized else fields[1]
    tensor = writer.table(place, {2: 4, 3: 4, 6: 4, 0: 2})
    struct.pack_into("<H", writer.data, tensor[0], DATA_TYPES.index(value.dtype))
    struct.pack_into("<I", writer.data, tensor[3], int(value.constant))
    struct.pack_into("<I", writer.data, tensor[6], value.id)
    _write_list(writer, tensor[2], value.dims)


def _write_list(writer: Writer, hole: int, numbers: Sequence[int]) -> None:
    for at, number in zip(writer.vector(hole, len(numbers)), numbers, strict=True):
        struct.pack_into("<I", writer.data, at, number)


IMAGE, WEIGHT, BIAS, MADE = (
    Value(0, (1, 8, 8, 3)),
    Value(1, (16, 3, 3, 3), constant=True),
    Value(2, (16,), constant=True),
    Value(3, (1, 4, 4, 16)),
)
CONVOLUTION = Node(
    "XNNConv2d",
    {
        **{f"padding_{side}": 1 for side in ("top", "right", "bottom", "left")},
        "kernel_height": 3, "kernel_width": 3, "subsampling_height": 2, "subsampling_width": 2, "dilation_height": 1,
        "dilation_width": 1, "groups": 1, "input1_id": 0, "filter_id": 1, "bias_id": 2, "output_id": 3,
    },
    limits=(0.0, math.inf),
)  # fmt: skip
PAYLOAD = build_payload([IMAGE, WEIGHT, BIAS, MADE], [CONVOLUTION])
DELEGATED = Method(
    values=(Tensor((1, 3, 8, 8), FLOAT32), Tensor((1, 16, 4, 4), FLOAT32)),
    calls=(Call(0, (0, 1)),),
    delegates=(("XnnpackBackend", PAYLOAD),),
)
