"""Layout churn: bytes, rates, causes, modules, and transposes that cancel."""

from pathlib import Path

import pytest

from builders import a_loaded_run, a_session, paired_results
from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.graph.data_movement import find_cancelling, list_between_calls, list_layout_changes
from etprof.analysis.operators.operator_statistics import build_operators, collect_operators
from etprof.analysis.report import build_report
from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph
from etprof.core.operators import OperatorId
from etprof.core.report import CancellingPair, LayoutChange, VariantReport
from etprof.core.rows import OperatorRow
from graph_builder import a_graph, a_node, a_tensor
from report_builder import a_trace, an_operator
from trace_builder import recorded, recorded_graph

NCHW, NHWC = (1, 8, 4, 6), (1, 4, 6, 8)
TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def transpose(identity: str, ms: float = 0.01) -> OperatorRow:
    return an_operator(identity, "Transpose (ND, X32) #1", ms)


def clamp(identity: str) -> OperatorRow:
    return an_operator(identity, "Clamp (NC) #1")


def convolution(identity: str) -> OperatorRow:
    return an_operator(identity, "Convolution (NHWC, F32) IGEMM #1")


def node(
    index: int,
    tensors: tuple[int | None, int | None],
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    perm: tuple[int, ...] = (),
    *,
    handle: int = NO_HANDLE,
    module: str = "",
    dtype: str = "fp32",
) -> GraphNode:
    """A node that makes the second tensor out of the first."""
    before, after = (a_tensor(tensor, *shape, dtype=dtype) for tensor, shape in zip(tensors, shapes, strict=True))
    return a_node(index, "XNNNode", handle, inputs=(before,), outputs=(after,), perm=perm, module=module)


def nodes_of(graph: ModelGraph) -> dict[OperatorId, GraphNode]:
    """As if every node had left one event."""
    return {
        OperatorId(f"d{call}.{each.index}"): each
        for call, partition in enumerate(graph.partitions)
        for each in partition
    }


def changes(rows: list[OperatorRow], *partition: GraphNode) -> dict[str, LayoutChange]:
    graph = a_graph(partition)
    return {change.identity: change for change in list_layout_changes(rows, nodes_of(graph), graph)}


def pair_up(rows: list[OperatorRow], *partitions: tuple[GraphNode, ...]) -> tuple[CancellingPair, ...]:
    graph = a_graph(*partitions)
    return find_cancelling(rows, nodes_of(graph), graph, recorded("small_cnn"))


def test_bytes_are_those_read_plus_those_written() -> None:
    change = changes([transpose("d0.0", ms=0.002)], node(0, (1, 2), (NCHW, NHWC), TO_NHWC))["d0.0"]
    assert change.bytes_moved == 2 * 4 * 8 * 4 * 6
    assert change.gb_per_s == pytest.approx(change.bytes_moved / 2e-6 / 1e9)
    assert change.shape == "[1, 8, 4, 6] -> [1, 4, 6, 8]"


def test_a_slice_reads_no_more_than_it_writes() -> None:
    rows = [an_operator("d0.0", "Slice (ND, X8) #1")]
    assert changes(rows, node(0, (1, 2), ((1000,), (10,)), dtype="qint8"))["d0.0"].bytes_moved == 20


@pytest.mark.parametrize(
    ("dtype", "size"), [("fp32", 4), ("fp16", 2), ("qint8", 1), ("bool", 1), ("opaque", None), ("long", 8)]
)
def test_the_data_type_tells_the_bytes_of_an_element(dtype: str, size: int | None) -> None:
    moved = changes([transpose("d0.0")], node(0, (1, 2), ((2, 5), (5, 2)), dtype=dtype))["d0.0"].bytes_moved
    assert moved == (2 * 10 * size if size else None)


def test_no_rate_is_told_below_the_resolution_of_the_clock() -> None:
    change = changes([transpose("d0.0", ms=0.0005)], node(0, (1, 2), (NCHW, NHWC), TO_NHWC))["d0.0"]
    assert change.bytes_moved
    assert change.gb_per_s is None


def test_without_a_graph_time_is_all_that_is_told() -> None:
    (change,) = list_layout_changes([transpose("d0.0", 0.25)], {}, None)
    assert (change.mean_ms, change.share) == (0.25, 0.025)
    assert (change.bytes_moved, change.module_path, change.shape) == (None, "", "")
    assert find_cancelling([transpose("d0.0"), transpose("d0.1")], {}, None, recorded("small_cnn")) == ()


def test_only_operators_that_move_data_are_listed_and_the_longest_is_first() -> None:
    rows = [transpose("d0.0", 0.1), convolution("d0.1"), an_operator("p0", "native_call_cat.out", 0.3), clamp("d0.2")]
    assert [change.identity for change in list_layout_changes(rows, {}, None)] == ["p0", "d0.0"]


def test_an_inserted_transpose_is_named_after_the_module_it_serves() -> None:
    found = changes(
        [transpose("d0.0"), convolution("d0.1"), transpose("d0.2")],
        node(0, (1, 2), (NCHW, NHWC), TO_NHWC),
        node(1, (2, 3), (NHWC, NHWC), handle=5, module="features.0"),
        node(2, (3, 4), (NHWC, NCHW), TO_NCHW),
    )
    assert found["d0.0"].module_path == "before features.0"
    assert found["d0.2"].module_path == "after features.0"


def test_a_transpose_comes_from_the_model_from_an_edge_of_the_delegate_or_from_the_lowering() -> None:
    found = changes(
        [
            transpose("d0.0"),
            convolution("d0.1"),
            transpose("d0.2"),
            transpose("d0.3"),
            clamp("d0.4"),
            transpose("d0.5"),
        ],
        node(0, (1, 2), (NCHW, NHWC)),
        node(1, (2, 3), (NHWC, NHWC), handle=5),
        node(2, (3, 4), (NHWC, NCHW)),
        node(3, (4, 5), (NHWC, NCHW), handle=6),
        node(4, (5, 6), (NHWC, NHWC), handle=7),
        node(5, (6, 7), (NHWC, NCHW)),
    )
    assert {identity: change.cause for identity, change in found.items()} == {
        "d0.0": "entry of delegate call 0",
        "d0.2": "layout change inside the partition",
        "d0.3": "the model",
        "d0.5": "exit from delegate call 0",
    }


def a_concatenation(index: int, given: tuple[int, ...], made: int, module: str = "") -> GraphNode:
    operands = tuple(a_tensor(number, 1, 4, 6, 8) for number in given)
    whole = a_tensor(made, 1, 4, 6, 8 * len(given))
    return a_node(index, f"XNNConcatenate{len(given)}", 9, inputs=operands, outputs=(whole,), module=module)


def test_the_copy_of_a_concatenation_names_its_operands_its_module_and_why_it_copies() -> None:
    found = changes(
        [convolution("d0.0"), clamp("d0.1"), an_operator("d0.2", "Copy (NC, X32) #1"), convolution("d0.3")],
        node(0, (0, 1), (NHWC, NHWC), handle=1, module="down.0"),
        node(1, (1, 2), (NHWC, NHWC), handle=2),
        a_concatenation(2, (1, 2), 3),
        node(3, (3, 4), (NHWC, NHWC), handle=3, module="up.0"),
    )
    change = found["d0.2"]
    assert change.kind == "copy"
    assert change.shape == "[1, 4, 6, 8] + [1, 4, 6, 8] -> [1, 4, 6, 16]"
    assert change.module_path == "before up.0"
    assert change.cause == "concatenation of 2 operands along axis 3 (down.0): XNNPACK copies each into the output"


def test_operands_from_outside_the_partition_have_no_maker() -> None:
    found = changes([an_operator("d0.0", "Copy (NC, X32) #1")], a_concatenation(0, (7, 8), 3, "skip"))
    assert found["d0.0"].module_path == "skip"
    assert found["d0.0"].cause == "concatenation of 2 operands along axis 3: XNNPACK copies each into the output"


def test_a_neighbour_is_found_through_nodes_without_a_module() -> None:
    found = changes(
        [transpose("d0.0"), clamp("d0.1"), convolution("d0.2")],
        node(0, (1, 2), (NCHW, NHWC), TO_NHWC),
        node(1, (2, 3), (NHWC, NHWC), handle=4),
        node(2, (3, 4), (NHWC, NHWC), handle=5, module="features.0"),
    )
    assert found["d0.0"].module_path == "before features.0"


def test_a_slice_a_pad_and_a_portable_move_come_from_the_model() -> None:
    rows = [an_operator("d0.0", "Slice (ND, X32) #1"), an_operator("p0", "native_call_cat.out")]
    graph = a_graph((node(0, (1, 2), ((1000,), (10,)), handle=3),))
    portable = {OperatorId("p0"): a_node(0, "aten::cat.out")}
    found = list_layout_changes(rows, {**nodes_of(graph), **portable}, graph)
    assert {change.identity: change.cause for change in found} == {"d0.0": "the model", "p0": "the model"}


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
    assert (pair.first.identity, pair.second.identity) == ("d0.1", "d0.2")
    assert pair.saves_ms == pytest.approx(0.05)


def test_where_the_graph_does_not_number_tensors_permutations_or_shapes_are_the_evidence() -> None:
    rows = [transpose("d0.0"), transpose("d0.1")]
    there, back = (((None, None), (NHWC, NCHW)), ((None, None), (NCHW, NHWC)))
    (by_permutation,) = pair_up(rows, (node(0, *there, TO_NCHW), node(1, *back, TO_NHWC)))
    (by_shape,) = pair_up(rows, (node(0, *there), node(1, *back)))
    assert (by_permutation.evidence, by_shape.evidence) == ("permutations", "shapes")


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
    trace, graph = recorded("mobilenet_v3"), recorded_graph("mobilenet_v3")
    nodes = list_mapped(align_operators(collect_operators([trace]), graph))
    pairs = find_cancelling(build_operators([trace]), nodes, graph, trace)
    assert len(pairs) == 9
    assert {pair.kind for pair in pairs} == {"around elementwise operators"}
    assert {pair.evidence for pair in pairs} == {"data flow"}


def test_portable_operators_between_calls_are_listed_in_order() -> None:
    between = list_between_calls(recorded("small_cnn"))
    assert between == {0: ("native_call_upsample_nearest2d.vec_out", "native_call_mean.out")}


@pytest.fixture
def variant(tmp_path: Path) -> VariantReport:
    """What a report says of a variant whose graph is known."""
    image, back = (1, 8, 8, 16), (1, 16, 8, 8)

    def a_layer(index: int, type: str, module: str, before: tuple[int, ...], after: tuple[int, ...]) -> GraphNode:
        given, made = a_tensor(None, *before), a_tensor(None, *after)
        return a_node(index, type, index + 1, module=module, inputs=(given,), outputs=(made,))

    first = (
        a_layer(0, "XNNConv2d", "stem.conv", image, image),
        a_layer(1, "XNNStaticTranspose", "stem.permute", image, back),
        a_layer(2, "XNNFullyConnected", "head.fc", (1, 16), (1, 16)),
    )
    second = (
        a_layer(0, "XNNStaticTranspose", "tail.permute", back, image),
        a_layer(1, "XNNAdd", "tail.add", image, image),
        a_layer(2, "XNNSoftmax", "tail.softmax", image, image),
    )
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    run = a_loaded_run(session, {"on": [a_trace(tmp_path, 0.25)]}, graph=a_graph(first, second))
    return build_report(run, title="t", created_at="now").variants[1]


def test_rows_of_a_report_carry_module_shape_bytes_and_rate(variant: VariantReport) -> None:
    row = next(row for row in variant.layout_changes if row.module_path == "stem.permute")
    moved = 2 * 1 * 8 * 8 * 16 * 4
    assert (row.kind, row.bytes_moved, row.shape) == ("transpose", moved, "[1, 8, 8, 16] -> [1, 16, 8, 8]")
    assert row.gb_per_s == pytest.approx(moved / (row.mean_ms * 1e6))
    times = [row.mean_ms for row in variant.layout_changes]
    assert len(times) == 3
    assert times == sorted(times, reverse=True)


def test_the_report_names_modules_as_the_list_of_a_single_trace_does() -> None:
    trace, graph = recorded("mobilenet_v3"), recorded_graph("mobilenet_v3")
    nodes = list_mapped(align_operators(collect_operators([trace]), graph))
    alone = list_layout_changes(build_operators([trace]), nodes, graph)
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    run = a_loaded_run(session, {"on": [trace]}, graph=graph)
    report = build_report(run, title="t", created_at="now")
    found = {change.identity: change.module_path for change in report.variants[1].layout_changes}
    assert found == {change.identity: change.module_path for change in alone}
    assert all(found.values())


def test_operators_of_a_report_carry_the_module_that_their_node_tells(variant: VariantReport) -> None:
    modules = {row.identity: row.module_path for row in variant.operators}
    assert modules == {
        "d0.0": "stem.conv", "d0.1": "stem.permute", "d0.2": "head.fc", "p0": "",
        "d1.0": "tail.permute", "d1.1": "tail.add", "d1.2": "tail.softmax",
    }  # fmt: skip
