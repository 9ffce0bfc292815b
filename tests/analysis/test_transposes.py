"""Layout churn: bytes, rates, causes, and transposes that cancel."""

import json
from pathlib import Path

import pytest

from etprof.analysis.alignment import align_traces, iter_mapped
from etprof.analysis.model_graph import NO_HANDLE, GraphNode, ModelGraph, TensorSpec, parse_graph
from etprof.analysis.operators import build_operators
from etprof.analysis.transposes import CancellingPair, build_movements, find_pairs, list_between_calls
from etprof.core.report import OperatorRow
from etprof.core.trace import Trace
from etprof.traces.etdump import read_etdump

DATA = Path(__file__).parents[1] / "data" / "traces"
NCHW, NHWC = (1, 8, 4, 6), (1, 4, 6, 8)
TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def operator(identity: str, name: str, category: str, subcategory: str, ms: float = 0.01) -> OperatorRow:
    return OperatorRow(identity, name, category, subcategory, True, 10, ms, ms, ms)


def transpose(identity: str, ms: float = 0.01) -> OperatorRow:
    return operator(identity, "Transpose (ND, X32) #1", "Data Movement", "transpose", ms)


def clamp(identity: str) -> OperatorRow:
    return operator(identity, "Clamp (NC) #1", "Elementwise", "activation")


def convolution(identity: str) -> OperatorRow:
    return operator(identity, "Convolution (NHWC, F32) IGEMM #1", "Convolution", "convolution")


def node(
    index: int,
    values: tuple[int, int],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    permutation: tuple[int, ...] = (),
    *,
    handle: int = NO_HANDLE,
    module: str = "",
    dtype: str = "fp32",
) -> GraphNode:
    made = TensorSpec(shapes[0], dtype, value=values[0])
    return GraphNode(
        index,
        "XNNNode",
        handle,
        False,
        (made,),
        (TensorSpec(shapes[1], dtype, value=values[1]),),
        (),
        module,
        permutation,
    )


def pair_up(rows: list[OperatorRow], *partitions: tuple[GraphNode, ...]) -> tuple[CancellingPair, ...]:
    nodes = {f"d{call}.{each.index}": each for call, partition in enumerate(partitions) for each in partition}
    return find_pairs(rows, nodes, ModelGraph(partitions, ()), read_etdump(DATA / "small_cnn.etdump"))


def read(name: str) -> tuple[Trace, ModelGraph, dict[str, GraphNode]]:
    trace = read_etdump(DATA / f"{name}.etdump")
    graph = parse_graph(json.loads((DATA / f"{name}.graph.json").read_text()), name)
    return trace, graph, dict(iter_mapped(align_traces([trace], graph)))


def test_bytes_are_those_read_plus_those_written() -> None:
    rows = [transpose("d0.0", ms=0.002)]
    (movement,) = build_movements(rows, {"d0.0": node(0, (1, 2), (NCHW, NHWC), TO_NHWC)})
    assert movement.bytes_moved == 2 * 4 * 8 * 4 * 6
    assert movement.gb_per_s == pytest.approx(movement.bytes_moved / 2e-6 / 1e9)


def test_a_slice_reads_no_more_than_it_writes() -> None:
    rows = [operator("d0.0", "Slice (ND, X8) #1", "Data Movement", "slice")]
    (movement,) = build_movements(rows, {"d0.0": node(0, (1, 2), ((1000,), (10,)), dtype="qint8")})
    assert movement.bytes_moved == 20


def test_no_rate_is_told_below_the_resolution_of_the_clock() -> None:
    (movement,) = build_movements([transpose("d0.0", ms=0.0005)], {"d0.0": node(0, (1, 2), (NCHW, NHWC), TO_NHWC)})
    assert movement.bytes_moved
    assert movement.gb_per_s is None


def test_without_a_graph_time_is_all_that_is_told() -> None:
    (movement,) = build_movements([transpose("d0.0")], {})
    assert (movement.bytes_moved, movement.module_path, movement.shape) == (None, "", "")


def test_an_inserted_transpose_is_named_after_the_module_it_serves() -> None:
    partition = (
        node(0, (1, 2), (NCHW, NHWC), TO_NHWC),
        node(1, (2, 3), (NHWC, NHWC), handle=5, module="features.0"),
        node(2, (3, 4), (NHWC, NCHW), TO_NCHW),
    )
    rows = [transpose("d0.0"), convolution("d0.1"), transpose("d0.2")]
    nodes = {f"d0.{each.index}": each for each in partition}
    movements = {m.row.identity: m for m in build_movements(rows, nodes, ModelGraph((partition,), ()))}
    assert movements["d0.0"].module_path == "before features.0"
    assert movements["d0.2"].module_path == "after features.0"
    assert movements["d0.0"].cause == "entry of delegate call 0"
    assert movements["d0.2"].cause == "exit from delegate call 0"


def test_transposes_back_to_back_cancel() -> None:
    rows = [convolution("d0.0"), transpose("d0.1", 0.02), transpose("d0.2", 0.03), convolution("d0.3")]
    partition = (
        node(0, (0, 1), (NHWC, NHWC), handle=1),
        node(1, (1, 2), (NHWC, NCHW), TO_NCHW),
        node(2, (2, 3), (NCHW, NHWC), TO_NHWC),
        node(3, (3, 4), (NHWC, NHWC), handle=2),
    )
    (pair,) = pair_up(rows, partition)
    assert (pair.kind, pair.evidence, pair.between) == ("back to back", "data flow", ())
    assert pair.saved_ms == pytest.approx(0.05)


def test_transposes_of_different_tensors_do_not_cancel() -> None:
    square = (4, 4)
    partition = (node(0, (0, 1), (square, square), (1, 0)), node(1, (7, 8), (square, square), (1, 0)))
    assert pair_up([transpose("d0.0"), transpose("d0.1")], partition) == ()


def test_transposes_around_elementwise_operators_cancel_and_around_others_do_not() -> None:
    partition = (
        node(0, (0, 1), (NHWC, NCHW), TO_NCHW),
        node(1, (1, 2), (NCHW, NCHW), handle=3),
        node(2, (2, 3), (NCHW, NHWC), TO_NHWC),
    )
    (pair,) = pair_up([transpose("d0.0"), clamp("d0.1"), transpose("d0.2")], partition)
    assert (pair.kind, pair.between) == ("around elementwise operators", ("Clamp (NC) #1",))
    assert pair_up([transpose("d0.0"), convolution("d0.1"), transpose("d0.2")], partition) == ()


def test_a_boundary_that_undoes_a_layout_is_found() -> None:
    leaving = (node(0, (0, 1), (NHWC, NCHW), TO_NCHW),)
    entering = (node(0, (0, 1), (NCHW, NHWC), TO_NHWC),)
    (pair,) = pair_up([transpose("d0.0"), transpose("d1.0")], leaving, entering)
    assert pair.kind == "boundary between delegate calls 0 and 1"
    assert pair.between == ("native_call_upsample_nearest2d.vec_out", "native_call_mean.out")


def test_permutations_that_do_not_undo_each_other_are_no_pair() -> None:
    cube = (4, 4, 4)
    partition = (node(0, (0, 1), (cube, cube), (1, 2, 0)), node(1, (1, 2), (cube, cube), (1, 2, 0)))
    assert pair_up([transpose("d0.0"), transpose("d0.1")], partition) == ()


def test_the_squeeze_and_excite_blocks_of_mobilenet_v3_churn_layouts() -> None:
    trace, graph, nodes = read("mobilenet_v3")
    pairs = find_pairs(build_operators([trace]), nodes, graph, trace)
    assert len(pairs) == 9
    assert {pair.kind for pair in pairs} == {"around elementwise operators"}
    assert {pair.evidence for pair in pairs} == {"data flow"}


def test_portable_operators_between_calls_are_listed_in_order() -> None:
    between = list_between_calls(read_etdump(DATA / "small_cnn.etdump"))
    assert between == {0: ("native_call_upsample_nearest2d.vec_out", "native_call_mean.out")}
