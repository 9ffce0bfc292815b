"""The work of an operator: its kind of layer, shapes and multiply-accumulates, by closed forms and as torch counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from etprof.analysis.graph.event_patterns import EVENTS
from etprof.analysis.graph.work import add_work, build_work, count_macs
from etprof.analysis.operators.rollups import roll_up
from etprof.app.traces import read_traces
from etprof.core.graph import GraphNode, ModelGraph, Window
from etprof.core.layout import graph_path
from etprof.core.model import Delegation
from etprof.core.work import Work, rate_gmac_per_s
from etprof.export.graph_file import load_graph
from graph_builder import a_node, a_tensor
from report_builder import an_operator
from shared_exports import MODELS, SharedExports
from trace_builder import RECORDED, WITH_GRAPH

COMPUTE = ("XNNConv2d", "XNNDepthwiseConv2d", "XNNConvTranspose2d", "XNNFullyConnected", "XNNBatchMatrixMultiply")


def a_layer(type: str, data: tuple[int, ...], weight: tuple[int, ...], output: tuple[int, ...]) -> GraphNode:
    tensors = (a_tensor(1, *data), a_tensor(2, *weight, constant=True))
    return a_node(0, type, inputs=tensors, outputs=(a_tensor(3, *output),), module="layer")


@pytest.mark.parametrize(
    ("node", "kind", "macs"),
    [
        (a_layer("XNNConv2d", (1, 8, 8, 3), (16, 3, 3, 3), (1, 4, 4, 16)), "3x3 convolution", 4 * 4 * 16 * 27),
        (a_layer("XNNConv2d", (2, 8, 8, 4), (6, 1, 1, 4), (2, 8, 8, 6)), "1x1 convolution", 2 * 64 * 6 * 4),
        (a_layer("XNNConv2d", (1, 8, 8, 8), (12, 3, 3, 2), (1, 8, 8, 12)), "grouped 3x3 convolution", 64 * 12 * 18),
        (a_layer("XNNDepthwiseConv2d", (1, 8, 8, 8), (1, 7, 7, 8), (1, 8, 8, 8)), "depthwise 7x7", 64 * 8 * 49),
        (a_layer("XNNDepthwiseConv2d", (1, 8, 8, 8), (1, 1, 3, 16), (1, 8, 8, 16)), "depthwise 1x3", 64 * 16 * 3),
        # One input channel and one group: XNNPACK's depthwise kernel, and an ordinary convolution.
        (a_layer("XNNDepthwiseConv2d", (1, 8, 8, 1), (1, 3, 3, 4), (1, 8, 8, 4)), "3x3 convolution", 64 * 4 * 9),
        (
            a_layer("XNNConvTranspose2d", (1, 4, 4, 8), (6, 2, 2, 8), (1, 8, 8, 6)),
            "transposed 2x2 convolution",
            16 * 8 * 4 * 6,
        ),
        (
            a_layer("XNNConvTranspose2d", (1, 4, 4, 8), (8, 2, 2, 1), (1, 8, 8, 8)),
            "transposed depthwise 2x2",
            16 * 8 * 4,
        ),
        (a_layer("XNNFullyConnected", (2, 5, 7), (3, 7), (2, 5, 3)), "linear", 2 * 5 * 3 * 7),
        (a_layer("XNNBatchMatrixMultiply", (2, 5, 7), (2, 7, 3), (2, 5, 3)), "batch matrix multiply", 2 * 5 * 3 * 7),
        (a_layer("aten::mm.out", (5, 7), (7, 3), (5, 3)), "linear", 5 * 3 * 7),
        (a_layer("aten::bmm.out", (2, 5, 7), (2, 7, 3), (2, 5, 3)), "batch matrix multiply", 2 * 5 * 3 * 7),
        (a_node(0, "XNNSoftmax", inputs=(a_tensor(1, 4, 4),), outputs=(a_tensor(2, 4, 4),)), "softmax", 0),
        (a_node(0, "aten::native_layer_norm.out", outputs=(a_tensor(None, 4, 4),)), "normalisation", 0),
        # A graph of version 1 tells no inputs outside of the partitions, and nobody knows an operator of one's own.
        (a_node(0, "aten::mm.out", outputs=(a_tensor(None, 4, 4),)), "linear", None),
        (a_node(0, "aten::convolution.out", outputs=(a_tensor(None, 4, 4),)), "convolution", None),
        (a_node(0, "mine::novel.out", outputs=(a_tensor(None, 4, 4),)), "unmatched", None),
        (a_node(0, "llama::custom_sdpa.out", outputs=(a_tensor(None, 4, 4),)), "attention", None),
    ],
)
def test_kinds_and_multiply_accumulates_follow_from_the_shapes(node: GraphNode, kind: str, macs: int | None) -> None:
    work = build_work(node)
    assert (work.kind, work.macs) == (kind, macs)


@pytest.mark.parametrize("type", EVENTS)
def test_every_node_of_xnnpack_has_a_kind(type: str) -> None:
    node = a_layer(type, (1, 8, 8, 4), (8, 3, 3, 4), (1, 8, 8, 8))
    work = build_work(node)
    assert work.kind
    assert bool(work.macs) == (type in COMPUTE)


def test_shapes_and_bytes_are_those_of_all_tensors() -> None:
    inputs = (a_tensor(1, 1, 8, 8, 3), a_tensor(2, 16, 3, 3, 3, dtype="qcint8", constant=True), a_tensor(3, 16))
    node = a_node(0, "XNNConv2d", inputs=inputs, outputs=(a_tensor(4, 1, 4, 4, 16, dtype="fp16"),))
    work = build_work(node)
    assert work.shapes == "1x8x8x3 * 16x3x3x3 -> 1x4x4x16"
    assert work.minimal_bytes == 4 * 192 + 432 + 4 * 16 + 2 * 256


def test_a_slice_reads_no_more_than_it_writes_and_an_unknown_type_has_no_bytes() -> None:
    part = a_node(0, "XNNStaticSlice", inputs=(a_tensor(1, 100, 4),), outputs=(a_tensor(2, 10, 4),))
    assert build_work(part).minimal_bytes == 2 * 160
    unknown = a_node(0, "XNNAdd", inputs=(a_tensor(1, 4, dtype="invalid"),), outputs=(a_tensor(2, 4),))
    assert build_work(unknown).minimal_bytes is None


def test_packing_and_clamping_are_not_the_work_of_their_layer() -> None:
    node = a_layer("XNNConv2d", (1, 8, 8, 4), (8, 1, 1, 4), (1, 8, 8, 8))
    main = add_work(an_operator("d0.1", "Convolution (NHWC, PF32) GEMM #1", ms=0.5), node)
    assert isinstance(main.work, Work)
    assert main.gmac_per_s == pytest.approx(2048 / 0.5e-3 / 1e9)
    for name, kind in (("Pack LH (PF32) #1", "LHS packing"), ("Clamp (NC) #1", "elementwise")):
        beside = add_work(an_operator("d0.0", name), node)
        assert (beside.work, beside.gmac_per_s, beside.kind, beside.module_path) == (None, None, kind, "layer")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Convolution (NHWC, F32) DWConv #1", "depthwise convolution"),
        ("Convolution (NHWC, F32) IGEMM #1", "convolution"),
        ("Convolution (NHWC, F32) GEMM #1", "1x1 convolution"),
        ("Fully Connected (NC, F32) GEMM #1", "linear"),
        ("Add (ND) #1", "elementwise"),
        ("Transpose (ND, X32) #1", "transpose"),
    ],
)
def test_without_a_graph_the_name_tells_the_kind(name: str, kind: str) -> None:
    row = add_work(an_operator("d0.0", name), None)
    assert (row.kind, row.work, row.gmac_per_s) == (kind, None, None)


def test_no_rate_is_given_for_less_than_a_microsecond_or_for_nothing() -> None:
    assert rate_gmac_per_s(1000, 0.0009) is None
    assert rate_gmac_per_s(0, 1.0) is None
    assert rate_gmac_per_s(None, 1.0) is None
    assert rate_gmac_per_s(2_000_000, 1.0) == pytest.approx(2.0)


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_the_operators_of_a_trace_do_the_work_of_the_graph_once(name: str) -> None:
    path = RECORDED[name]
    given = read_traces([path], graph=path.with_suffix(".graph.json"))
    assert given.graph is not None
    assert sum(row.work.macs or 0 for row in given.operators if row.work) == count_macs(given.graph)
    total = sum(row.mean_ms for row in roll_up(given.operators, "kind"))
    assert total == pytest.approx(sum(row.mean_ms for row in given.operators))


@contextmanager
def counted() -> Iterator[Any]:
    """What torch counts as floating-point operations: two for each multiply-accumulate."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        yield counter


@pytest.mark.parametrize("model", ["toy_cnn", "mobilenet_v3_small"])
def test_an_export_has_the_work_that_torch_counts(model: str, exported: SharedExports) -> None:
    from etprof.export.registry import find_model
    from etprof.export.source import build_model

    graph = load_graph(graph_path(exported(model).pte))
    eager = build_model(find_model(model, MODELS), 0, None)
    with counted() as counter:
        eager.module(*eager.args)
    assert count_macs(graph) * 2 == counter.get_total_flops()


def build_every_kind() -> Any:
    """A layer of each kind that multiplies, one after the other."""
    from torch import nn

    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.strided = nn.Conv2d(3, 8, 3, stride=2, padding=1)
            self.dilated = nn.Conv2d(8, 8, 3, dilation=2)
            self.grouped = nn.Conv2d(8, 12, 3, groups=2, bias=False)
            self.depthwise = nn.Conv2d(12, 12, 5, padding=2, groups=12)
            self.multiplied = nn.Conv2d(12, 24, 3, groups=12)
            self.up = nn.ConvTranspose2d(24, 6, 2, stride=2)
            self.grouped_up = nn.ConvTranspose2d(6, 4, 3, stride=2, output_padding=1, groups=2)
            self.query, self.key, self.value = (nn.Linear(4, 8, bias=b) for b in (True, False, True))

        def forward(self, x: Any) -> Any:
            for layer in (self.strided, self.dilated, self.grouped, self.depthwise, self.multiplied):
                x = layer(x)
            x = self.grouped_up(self.up(x)).flatten(2).transpose(1, 2)
            weights = (self.query(x) @ self.key(x).transpose(1, 2)).softmax(-1)
            return weights @ self.value(x)

    return Net().eval()


def lower(model: Any, example: Any, *, delegate: bool) -> ModelGraph:
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    from etprof.export.graph import build_graph
    from etprof.export.lowering import Lowered, observe

    captured = torch.export.export(model, (example,), strict=False)
    with observe() as observed:
        edge = to_edge_transform_and_lower(captured, partitioner=[XnnpackPartitioner()] if delegate else [])
    delegation = Delegation(1, 0, 0, 1.0, {}, ())
    return build_graph("m", Lowered(captured, edge, edge.to_executorch(), observed, delegation))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("delegate", [True, False])
def test_every_kind_of_layer_has_the_work_that_torch_counts(delegate: bool) -> None:
    import torch

    model, example = build_every_kind(), torch.randn(1, 3, 24, 24)
    graph = lower(model, example, delegate=delegate)
    nodes = [node for nodes in (*graph.partitions, graph.undelegated) for node in nodes]
    with counted() as counter:
        model(example)
    flops = {name.partition(".")[2]: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    layers = [name for name, _ in model.named_children()]
    for layer in layers:
        macs = sum(build_work(node).macs or 0 for node in nodes if node.module_path == layer)
        assert macs * 2 == flops[layer], layer
    assert count_macs(graph) * 2 == counter.get_total_flops()
    kinds = {node.module_path: build_work(node).kind for node in nodes if build_work(node).macs}
    assert [kinds[layer] for layer in layers[:7]] == [
        "3x3 convolution",
        "3x3 convolution",
        "grouped 3x3 convolution",
        "depthwise 5x5",
        "depthwise 3x3",
        "transposed 2x2 convolution",
        "transposed 3x3 convolution",
    ]
    windows = {node.module_path: node.window for node in nodes if node.window}
    assert windows["strided"] == Window(kernel=(3, 3), stride=(2, 2), padding=(1, 1, 1, 1), dilation=(1, 1))
    assert windows["dilated"].dilation == (2, 2)
    assert (windows["grouped"].groups, windows["up"].transposed, windows["grouped_up"].groups) == (2, True, 2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("delegate", [True, False])
def test_attention_has_the_work_that_torch_counts(delegate: bool) -> None:
    import torch
    import torch.nn.attention
    from torch import nn

    class Attention(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(16, 48)

        def forward(self, x: Any) -> Any:
            parts = self.inner(x).reshape(2, 10, 3, 4, 4).permute(2, 0, 3, 1, 4)
            return nn.functional.scaled_dot_product_attention(*parts.unbind(0))

    model, example = Attention().eval(), torch.randn(2, 10, 16)
    # torch counts the products of this form, and not the fused kernel that it would choose.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), counted() as counter:
        model(example)
    graph = lower(model, example, delegate=delegate)
    nodes = [node for nodes in (*graph.partitions, graph.undelegated) for node in nodes]
    works = [build_work(node) for node in nodes]
    assert counter.get_total_flops() == 2 * 2 * 10 * 16 * 48 + 2 * 2 * 2 * 4 * 10 * 10 * 4
    assert sum(work.flops or 0 for work in works if work.macs) == counter.get_total_flops()
    assert all(work.operations is not None and work.minimal_bytes for work in works), [w.kind for w in works]
