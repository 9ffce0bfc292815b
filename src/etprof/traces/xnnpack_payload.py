"""Reads the graph out of an XNNPACK delegate's payload in a program: its nodes with their types and shapes.

The fields are those of backends/xnnpack/serialization/schema.fbs of ExecuTorch, in its order.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from etprof.core.graph import GraphNode, TensorSpec
from etprof.core.xnnpack_nodes import build_node
from etprof.traces.flatbuffer import Buffer, Tables
from etprof.traces.program import OpenProgram, ProgramBuffer

BACKEND = "XnnpackBackend"
_HEADER, _HEADER_BYTES = b"XH00", 18
_IDENTIFIERS = (b"XN00", b"XN01")

_GRAPH_NODES, _GRAPH_VALUES = 1, 2
_NODE_TYPE, _NODE, _NODE_HANDLE, _NODE_LIMITS = 0, 1, 2, 3
_VALUE_TYPE, _VALUE = 0, 1
_QUANTIZED_TENSOR = 0
_TENSOR_TYPE, _TENSOR_DIMS, _TENSOR_CONSTANT, _TENSOR_ID = 0, 2, 3, 6

# The members of the enum XNNDatatype, without their prefix.
DATA_TYPES = (
    "invalid", "fp32", "fp16", "qint8", "quint8", "qint32", "qcint8", "qcint32", "qcint4", "qdint8", "qbint4",
    "qpint8", "int32", "pfp32", "bf16",
)  # fmt: skip
# The members of the union XNodeUnion.
NODE_TYPES = (
    "NONE", "XNNAdd", "XNNFullyConnected", "XNNSoftmax", "XNNSigmoid", "XNNStaticTranspose", "XNNClamp", "XNNConv2d",
    "XNNDiv", "XNNStaticResizeBilinear2D", "XNNStaticConstantPad", "XNNAvgPooling2d", "XNNMinimum",
    "XNNDepthwiseConv2d", "XNNMaxPooling2d", "XNNMultiply", "XNNSubtract", "XNNFloor", "XNNConvert",
    "XNNGlobalAvgPooling2d", "XNNStaticReshape", "XNNArgMaxPooling2d", "XNNSquareRoot", "XNNCeiling", "XNNHardswish",
    "XNNLeakyReLU", "XNNMaximum", "XNNNegate", "XNNSquare", "XNNELU", "XNNAbs", "XNNPReLU", "XNNConcatenate2",
    "XNNConcatenate3", "XNNConcatenate4", "XNNStaticSlice", "XNNScaledDotProductAttention", "XNNBatchMatrixMultiply",
    "XNNConcatenate5", "XNNConvTranspose2d", "XNNReciprocalSquareRoot", "XNNLog", "XNNGelu", "XNNTanh", "XNNExp",
    "XNNSin", "XNNCopy", "XNNCos",
)  # fmt: skip

_PADDING = ("padding_top", "padding_right", "padding_bottom", "padding_left")
_UNARY = ("input_id", "output_id", "flags")
_BINARY = ("input1_id", "input2_id", "output_id", "flags")
_WEIGHTED = ("input1_id", "filter_id", "bias_id", "output_id", "flags")
_CONCATENATE = ("axis", "input1_id", "input2_id", "input3_id", "input4_id", "output_id", "flags", "input5_id")
_CONVOLUTION = (
    *_PADDING, "kernel_height", "kernel_width", "subsampling_height", "subsampling_width", "dilation_height",
    "dilation_width", "group_input_channels", "group_output_channels", "groups", "adjustment_height",
    "adjustment_width", *_WEIGHTED,
)  # fmt: skip
_WINDOW = (*_PADDING, "pooling_height", "pooling_width")
_POOLING = (*_WINDOW, "stride_height", "stride_width", "dilation_height", "dilation_width", *_UNARY)
# The fields of each node's table; those of one input and one output are the rule.
FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("XNNAdd", "XNNDiv", "XNNMinimum", "XNNMultiply", "XNNSubtract", "XNNMaximum"), _BINARY),
    **dict.fromkeys(("XNNPReLU", "XNNBatchMatrixMultiply"), _BINARY),
    **dict.fromkeys(("XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d"), _CONVOLUTION),
    **dict.fromkeys(("XNNAvgPooling2d", "XNNMaxPooling2d"), _POOLING),
    **{f"XNNConcatenate{count}": _CONCATENATE for count in range(2, 6)},
    "XNNArgMaxPooling2d": (*_WINDOW, "input_id", "output_value_id", "output_index_id", "flags"),
    "XNNELU": ("alpha", *_UNARY),
    "XNNFullyConnected": _WEIGHTED,
    "XNNLeakyReLU": ("negative_slope", *_UNARY),
    "XNNScaledDotProductAttention": ("query_id", "key_id", "value_id", "scale_id", "mask_id", "output_id", "flags"),
    "XNNStaticConstantPad": ("pre_paddings", "post_paddings", "padding_value", *_UNARY),
    "XNNStaticReshape": ("num_dims", "new_shape", *_UNARY),
    "XNNStaticResizeBilinear2D": ("new_height", "new_width", *_UNARY),
    "XNNStaticSlice": ("num_dims", "offsets", "sizes", *_UNARY),
    "XNNStaticTranspose": ("num_dims", "perm", *_UNARY),
}
_LISTS = ("perm",)


def fields_of(type: str) -> tuple[str, ...]:
    return FIELDS.get(type, _UNARY)


def read_payload(program: OpenProgram, start: int, size: int) -> tuple[GraphNode, ...]:
    """The nodes of the payload that lies there in the program's file, in the order in which they run."""
    buffer = _open(program, start, size)
    graph = buffer.tables(buffer.follow(np.zeros(1, np.int64)))
    return tuple(_read_nodes(buffer, buffer.tables_in(graph, _GRAPH_NODES), _read_values(buffer, graph)))


def _open(program: OpenProgram, start: int, size: int) -> ProgramBuffer:
    """The FlatBuffer of the graph: behind a header that tells its place, or the whole payload."""
    program.file.seek(start)
    head = program.file.read(min(size, _HEADER_BYTES))
    program.buffer.require(len(head) == _HEADER_BYTES, "an XNNPACK payload is cut off")
    if head[4:8] == _HEADER:
        offset, length = (int.from_bytes(head[at : at + 4], "little") for at in (10, 14))
    else:
        offset, length = 0, size
        program.buffer.require(head[4:8] in _IDENTIFIERS, "an XNNPACK payload is of an unknown format")
    program.buffer.require(length >= 8 and offset + length <= size, "an XNNPACK graph ends beyond its payload")
    return ProgramBuffer(program.buffer.path, length, program.file, start=start + offset)


def _read_values(buffer: Buffer, graph: Tables) -> dict[int, TensorSpec]:
    """The tensors by their numbers; those of a quantised one are wrapped in a table of their own."""
    values = buffer.tables_in(graph, _GRAPH_VALUES)
    kinds, at = buffer.uint8(buffer.field(values, _VALUE_TYPE, 1)), buffer.field(values, _VALUE, 4)
    buffer.require(bool(np.all((kinds > 0) & (kinds < 3) & (at > 0))), "an XNNPACK value is of an unknown kind")
    place = buffer.follow(at)
    is_quantized = kinds == 2
    inner = buffer.field(buffer.tables(place[is_quantized]), _QUANTIZED_TENSOR, 4)
    buffer.require(bool(np.all(inner > 0)), "an XNNPACK value has no tensor")
    place[is_quantized] = buffer.follow(inner)
    tensors = buffer.tables(place)
    types = buffer.uint16(buffer.field(tensors, _TENSOR_TYPE, 2))
    constants, numbers = (buffer.uint32(buffer.field(tensors, f, 4)) for f in (_TENSOR_CONSTANT, _TENSOR_ID))
    shapes = buffer.lists_in(tensors, _TENSOR_DIMS)
    return {
        number: TensorSpec(shape, _name_type(kind), constant=constant != 0, id=number)
        for number, shape, kind, constant in zip(
            numbers.tolist(), shapes, types.tolist(), constants.tolist(), strict=True
        )
    }


def _name_type(number: int) -> str:
    return DATA_TYPES[number] if number < len(DATA_TYPES) else f"data type {number}"


def _read_nodes(buffer: Buffer, nodes: Tables, values: Mapping[int, TensorSpec]) -> Iterator[GraphNode]:
    types, at = buffer.uint8(buffer.field(nodes, _NODE_TYPE, 1)), buffer.field(nodes, _NODE, 4)
    buffer.require(bool(np.all((types > 0) & (types < len(NODE_TYPES)) & (at > 0))), "an XNNPACK node is unknown")
    places, handles = buffer.follow(at), buffer.uint32(buffer.field(nodes, _NODE_HANDLE, 4))
    limits = _read_limits(buffer, nodes)
    fields: list[dict[str, object]] = [{} for _ in range(len(nodes))]
    for kind in np.unique(types).tolist():
        which = np.flatnonzero(types == kind)
        tables = buffer.tables(places[which])
        for number, name in enumerate(fields_of(NODE_TYPES[kind])):
            column: list[object]
            if name in _LISTS:
                column = list(buffer.lists_in(tables, number))
            else:
                column = buffer.uint32(buffer.field(tables, number, 4)).tolist()
            for node, value in zip(which.tolist(), column, strict=True):
                fields[node][name] = value
    for index, kind in enumerate(types.tolist()):
        yield build_node(
            index,
            NODE_TYPES[kind],
            fields[index],
            values,
            debug_handle=int(handles[index]),
            limits=limits[index],
        )


def _read_limits(buffer: Buffer, nodes: Tables) -> list[tuple[float, float] | None]:
    """What the output of each node is clamped to; None where nothing is fused into it."""
    at = buffer.field(nodes, _NODE_LIMITS, 4)
    found: list[tuple[float, float] | None] = [None] * len(nodes)
    which = np.flatnonzero(at > 0)
    tables = buffer.tables(buffer.follow(at[which]))
    low, high = (buffer.float32(buffer.field(tables, field, 4)).tolist() for field in (0, 1))
    for node, *limits in zip(which.tolist(), low, high, strict=True):
        found[node] = (limits[0], limits[1])
    return found
