"""Models and runs for the tests of advice: operators with their times and nodes, delegate call by delegate call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from builders import a_device_info
from etprof.analysis.advice.facts import Background
from etprof.analysis.advice.next_steps import find_next_steps
from etprof.analysis.graph.data_movement import list_layout_changes, pair_transposes
from etprof.analysis.graph.work import add_work
from etprof.analysis.model_advice import find_model_advice
from etprof.core.advice import ModelStep
from etprof.core.categories import DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD
from etprof.core.graph import GraphNode, ModelGraph, TensorSpec, Window
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.predictions import CpuLevel, NodePrediction
from etprof.core.report import LatencySummary, NextStep, VariantReport
from etprof.core.rows import CategoryRow
from etprof.core.run import DeviceInfo, SmeUnits
from graph_builder import a_node, a_tensor
from report_builder import an_operator

ON = Variant("on", 1)


@dataclass(frozen=True)
class Layer:
    """An event and the milliseconds it takes; `node` is its node, whose number is that of its place."""

    event: str
    ms: float
    node: GraphNode


def sme_device(**changes: Any) -> DeviceInfo:
    known = {"architecture": "arm64", "features": ("sme", "sme2"), "sme_vector_bits": 512, "cpu_count": 8}
    return a_device_info(**{**known, "sme_units": SmeUnits(1, is_shared=True), **changes})


def convolution(
    ms: float = 1.0, *, channels: tuple[int, int] = (64, 64), kernel: int = 3, dtype: str = "fp32", module: str = "conv"
) -> Layer:
    filters = a_tensor(2, channels[1], kernel, kernel, channels[0], dtype=dtype, constant=True)
    node = a_node(
        0, "XNNConv2d", 1, inputs=(a_tensor(1, 1, 8, 8, channels[0], dtype=dtype), filters),
        outputs=(a_tensor(3, 1, 8, 8, channels[1], dtype=dtype),), module=module,
    )  # fmt: skip
    window = Window(kernel=(kernel, kernel), stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1))
    return Layer("Convolution (NHWC, F32) IGEMM", ms, replace(node, window=window))


def depthwise(ms: float, channels: int = 64) -> Layer:
    data, filters = a_tensor(1, 1, 8, 8, channels), a_tensor(2, 1, 7, 7, channels, constant=True)
    node = a_node(0, "XNNDepthwiseConv2d", 1, inputs=(data, filters), outputs=(data,), module="depthwise")
    return Layer("Convolution (NHWC, F32) DWConv", ms, node)


def linear(
    ms: float = 1.0, *, rows: int = 16, sizes: tuple[int, int] = (64, 64), dtype: str = "fp32", weights: str = "fp32"
) -> Layer:
    given = a_tensor(2, sizes[1], sizes[0], dtype=weights, constant=True)
    node = a_node(
        0, "XNNFullyConnected", 1, inputs=(a_tensor(1, rows, sizes[0], dtype=dtype), given),
        outputs=(a_tensor(3, rows, sizes[1], dtype=dtype),), module="linear",
    )  # fmt: skip
    return Layer("Fully Connected (NC, F32) GEMM", ms, node)


def product(ms: float, *, constant: bool = False) -> Layer:
    node = a_node(
        0, "XNNBatchMatrixMultiply", 1,
        inputs=(a_tensor(1, 4, 16, 16), a_tensor(2, 4, 16, 16, constant=constant)), outputs=(a_tensor(3, 4, 16, 16),),
        module="attention",
    )  # fmt: skip
    return Layer("Batch Matrix Multiply (NC, F32) GEMM", ms, node)


def simple(
    type: str,
    event: str,
    ms: float,
    *,
    reads: Sequence[int] = (1,),
    writes: int = 3,
    dtype: str = "fp32",
    made: str = "",
    handle: int = 7,
) -> Layer:
    """A node whose inputs and output are alike; the numbers are those of its tensors."""
    inputs = tuple(a_tensor(number, 1, 8, 8, 64, dtype=dtype) for number in reads)
    outputs = (a_tensor(writes, 1, 8, 8, 64, dtype=made or dtype),)
    return Layer(event, ms, a_node(0, type, handle, inputs=inputs, outputs=outputs, module=type.lower()))


def transpose(ms: float, perm: tuple[int, ...], *, reads: int = 1, writes: int = 3) -> Layer:
    """One that the lowering inserted."""
    shape = (1, 8, 16, 64)
    made = tuple(shape[axis] for axis in perm)
    back = tuple(64 if size == 64 else size for size in made)
    source = shape if perm == (0, 3, 1, 2) else (1, 64, 8, 16)
    target = back if perm == (0, 3, 1, 2) else shape
    node = a_node(
        0, "XNNStaticTranspose", inputs=(a_tensor(reads, *source),), outputs=(a_tensor(writes, *target),), perm=perm
    )
    return Layer("Transpose (ND, X32)", ms, node)


def outside(operator: str, ms: float, *, dtype: str = "float32") -> Layer:
    """An operator that was not delegated."""
    tensor = TensorSpec((1, 64, 8, 8), dtype)
    node = a_node(
        0, f"aten::{operator}", inputs=(tensor,), outputs=(tensor,), module=operator.split(".", maxsplit=1)[0]
    )
    return Layer(f"native_call_{operator}", ms, node)


def a_model(*calls: Sequence[Layer], portable: Sequence[Layer] = ()) -> ModelGraph:
    partitions = tuple(tuple(replace(each.node, index=i) for i, each in enumerate(call)) for call in calls)
    return ModelGraph("model", partitions, tuple(replace(each.node, index=i) for i, each in enumerate(portable)))


def advise_model(
    *calls: Sequence[Layer], portable: Sequence[Layer] = (), predicted: str | None = None, **known: Any
) -> dict[str, ModelStep]:
    """What the rules say of the model alone, by rule; `predicted` is the family of every node on a CPU with SME2."""
    graph = a_model(*calls, portable=portable)
    steps = find_model_advice(graph, list(list_predictions(graph, predicted).values()), **known)
    return {step.rule: step for step in steps}


def list_predictions(graph: ModelGraph, family: str | None) -> dict[tuple[int | None, int], NodePrediction]:
    return {
        (number, node.index): NodePrediction(
            partition=number, node=node, is_compute=True, families={CpuLevel.SME2: family}, why="It is not packed."
        )
        for number, partition in enumerate(graph.partitions)
        for node in partition
    }


def advise_run(
    *calls: Sequence[Layer],
    portable: Sequence[Layer] = (),
    overhead_ms: tuple[float, float] = (0.0, 0.0),
    threads: int = 1,
    latency: LatencySummary | None = None,
    predicted: str | None = None,
    **known: Any,
) -> dict[str, NextStep]:
    """What the rules say of a run of the model, by rule; `known` is the rest of what is known of the variant."""
    graph = a_model(*calls, portable=portable)
    variant, nodes = _build_variant(graph, calls, portable, overhead_ms)
    variant = replace(variant, threads=threads, latency=latency)
    background = Background(nodes=nodes, graph=graph, predictions=list_predictions(graph, predicted), **known)
    steps = find_next_steps([variant], (), {variant.variant: background})
    assert len({step.rule for step in steps}) == len(steps)
    return {step.rule: step for step in steps}


def _build_variant(
    graph: ModelGraph, calls: Sequence[Sequence[Layer]], portable: Sequence[Layer], overhead_ms: tuple[float, float]
) -> tuple[VariantReport, Mapping[OperatorId, GraphNode]]:
    placed = [(f"d{call}.{at}", layer) for call, layers in enumerate(calls) for at, layer in enumerate(layers)]
    placed += [(f"p{at}", layer) for at, layer in enumerate(portable)]
    nodes = {OperatorId(f"d{c}.{node.index}"): node for c, nodes in enumerate(graph.partitions) for node in nodes}
    nodes |= {OperatorId(f"p{node.index}"): node for node in graph.undelegated}
    whole = sum(layer.ms for _, layer in placed) + sum(overhead_ms)
    plain = [an_operator(place, layer.event, layer.ms, whole) for place, layer in placed]
    rows = [add_work(row, nodes[row.identity]) for row in plain]
    overheads = dict(zip((DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD), overhead_ms, strict=True))
    times = {"Operators": whole - sum(overhead_ms), **overheads}
    report = VariantReport(
        experiment="on", threads=1, features_hidden=(), latency=None, accounting=None,
        categories=tuple(CategoryRow(name, 0, ms, ms / whole if whole else 0.0, 1.0) for name, ms in times.items()),
        operators=tuple(rows), unmatched_names=(), peak_bytes=None, runner="native",
        layout_changes=list_layout_changes(rows, nodes, graph), cancelling=pair_transposes(rows, nodes, graph, {}),
    )  # fmt: skip
    return report, nodes
