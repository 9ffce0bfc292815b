"""Operations of operators that multiply no matrices, by closed forms written out here once more."""

from dataclasses import replace

import pytest

from etprof.analysis.graph.event_patterns import EVENTS
from etprof.analysis.graph.operations import find_type
from etprof.analysis.graph.work import build_work
from etprof.core.graph import GraphNode, Window
from graph_builder import a_node, a_tensor


def of(type: str, data: tuple[int, ...], output: tuple[int, ...], dtype: str = "fp32") -> GraphNode:
    return a_node(0, type, inputs=(a_tensor(1, *data, dtype=dtype),), outputs=(a_tensor(2, *output, dtype=dtype),))


def windowed(node: GraphNode, *kernel: int) -> GraphNode:
    return replace(node, window=Window(kernel=kernel, stride=(2, 2), padding=(0, 0, 0, 0), dilation=(1, 1)))


@pytest.mark.parametrize(
    ("node", "flops", "count"),
    [
        (of("XNNAdd", (2, 8), (2, 8)), 16, 128),
        (of("XNNHardswish", (2, 8), (2, 8)), 16, 128),
        (of("XNNSoftmax", (2, 8), (2, 8)), 5 * 16, 128),
        (windowed(of("XNNMaxPooling2d", (1, 8, 8, 4), (1, 4, 4, 4)), 2, 2), 64 * 4, 4 * (256 + 64)),
        (windowed(of("XNNAvgPooling2d", (1, 8, 8, 4), (1, 4, 4, 4)), 3, 3), 64 * 9, 4 * (256 + 64)),
        (of("XNNGlobalAvgPooling2d", (1, 8, 8, 4), (1, 1, 1, 4)), 256, 4 * (256 + 4)),
        (of("XNNStaticResizeBilinear2D", (1, 4, 4, 2), (1, 8, 8, 2)), 9 * 128, 4 * (32 + 128)),
        (of("XNNStaticTranspose", (2, 8), (8, 2)), 0, 128),
        (of("XNNCopy", (2, 8), (2, 8)), 0, 128),
        (of("XNNStaticConstantPad", (2, 8), (2, 10)), 0, 4 * 36),
        (of("aten::mul.out", (2, 8), (2, 8), "float32"), 16, 128),
        (of("aten::native_layer_norm.out", (2, 8), (2, 8), "float32"), 8 * 16, 128),
        (of("aten::_native_batch_norm_legit_no_training.out", (1, 8, 4), (1, 8, 4), "float32"), 4 * 32, 256),
        (of("aten::max_pool2d_with_indices.out", (1, 4, 8, 8), (1, 4, 4, 4), "float32"), 256, 4 * (256 + 64)),
        (of("aten::mean.out", (2, 8), (2, 1), "float32"), 16, 4 * 18),
        (of("aten::upsample_bilinear2d.vec_out", (1, 2, 4, 4), (1, 2, 8, 8), "float32"), 9 * 128, 4 * (32 + 128)),
        (of("aten::upsample_bicubic2d.vec_out", (1, 2, 4, 4), (1, 2, 8, 8), "float32"), None, 4 * (32 + 128)),
        (of("mine::novel.out", (2, 8), (2, 8), "float32"), None, 128),
    ],
    ids=lambda value: value.type if isinstance(value, GraphNode) else "",
)
def test_operations_and_bytes_follow_from_the_shapes(node: GraphNode, flops: int | None, count: int) -> None:
    work = build_work(node)
    assert (work.flops, work.integer_operations, work.minimal_bytes) == (flops, 0, count)
    assert work.operations == flops


def test_quantised_operators_have_integer_operations() -> None:
    work = build_work(of("XNNAdd", (2, 8), (2, 8), "qint8"))
    assert (work.flops, work.integer_operations, work.data_type) == (0, 16, "int8")
    tensors = (a_tensor(1, 4, 8, dtype="qdint8"), a_tensor(2, 16, 8, dtype="qcint4", constant=True))
    linear = build_work(a_node(0, "XNNFullyConnected", inputs=tensors, outputs=(a_tensor(3, 4, 16),)))
    assert (linear.macs, linear.integer_operations, linear.flops) == (512, 1024, 0)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("fp32", "fp32"),
        ("float32", "fp32"),
        ("fp16", "fp16"),
        ("half", "fp16"),
        ("bfloat16", "bf16"),
        ("qcint8", "int8"),
        ("quint8", "int8"),
        ("qbint4", "int8"),
        ("bool", "int8"),
        ("int64", "int64"),
        ("double", "fp64"),
    ],
)
def test_types_are_those_of_the_arithmetic(dtype: str, name: str) -> None:
    assert find_type(a_tensor(1, 4, dtype=dtype)) == name


@pytest.mark.parametrize("type", EVENTS)
def test_every_node_of_xnnpack_has_operations_and_bytes(type: str) -> None:
    tensors = (a_tensor(1, 1, 8, 8, 4), a_tensor(2, 8, 3, 3, 4, constant=True))
    work = build_work(a_node(0, type, inputs=tensors, outputs=(a_tensor(3, 1, 8, 8, 8),)))
    assert work.operations is not None
    assert work.minimal_bytes


def test_what_picks_rows_reads_those_and_their_numbers_only() -> None:
    table, rows = a_tensor(1, 1000, 16, dtype="float32", constant=True), a_tensor(2, 5, dtype="int64")
    node = a_node(0, "aten::embedding.out", inputs=(table, rows), outputs=(a_tensor(3, 5, 16, dtype="float32"),))
    assert build_work(node).minimal_bytes == 2 * 5 * 16 * 4 + 5 * 8


def test_attention_multiplies_queries_with_keys_and_weights_with_values() -> None:
    query, key, value = a_tensor(1, 2, 4, 10, 8), a_tensor(2, 2, 4, 12, 8), a_tensor(3, 2, 4, 12, 6)
    node = a_node(
        0, "aten::scaled_dot_product_attention.default", inputs=(query, key, value), outputs=(a_tensor(4, 2, 4, 10, 6),)
    )
    work = build_work(node)
    assert (work.kind, work.macs) == ("attention", 2 * 4 * 10 * 12 * (8 + 6))
