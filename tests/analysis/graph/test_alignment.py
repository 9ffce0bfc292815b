"""From events back to graph nodes: complete on real models, and nothing that is only a guess."""

from pathlib import Path

import pytest

from etprof.analysis.graph.alignment import Alignment, align, align_operators, list_mapped
from etprof.analysis.graph.event_patterns import find_alternatives
from etprof.analysis.operators.operator_statistics import build_operators, collect_operators
from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph
from etprof.core.trace import Trace
from graph_builder import a_graph, a_node, a_tensor
from trace_builder import WITH_GRAPH, Operators, a_call, an_inference, read_inferences, recorded, recorded_graph


def align_traces(graph: ModelGraph, *traces: Trace) -> tuple[Alignment, ...]:
    return align_operators(collect_operators(traces), graph)


def calls(folder: Path, *inferences: list[Operators]) -> Trace:
    """A trace of inferences, each a list of delegate calls."""
    return read_inferences(folder, *(an_inference(*each, start_us=100 * i) for i, each in enumerate(inferences)))


def align_nodes(events: list[str], *nodes: GraphNode) -> list[set[int]]:
    return list(align(events, find_alternatives(nodes)))


def test_four_recorded_models_have_a_graph() -> None:
    assert WITH_GRAPH == ("many_portable", "mobilenet_v3", "small_cnn", "transformer")


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_every_event_of_the_recorded_models_is_mapped(name: str) -> None:
    alignments = align_traces(recorded_graph(name), recorded(name))
    assert {alignment.confidence for alignment in alignments} == {"exact"}
    assert sum(len(alignment.nodes) for alignment in alignments) > 8


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_the_mapping_keeps_the_order_of_the_graph(name: str) -> None:
    for alignment in align_traces(recorded_graph(name), recorded(name)):
        indices = [mapped.index for mapped in alignment.nodes if mapped]
        assert indices
        assert indices == sorted(indices)


def test_the_module_of_a_known_layer_is_found() -> None:
    nodes = list_mapped(align_traces(recorded_graph("small_cnn"), recorded("small_cnn")))
    named = {identity: node.module_path for identity, node in nodes.items() if node.module_path}
    assert named == {"d0.1": "c1", "d0.2": "dw", "d0.3": "pw", "d1.0": "fc"}


def test_the_graph_of_another_model_maps_nothing() -> None:
    alignments = align_traces(recorded_graph("mobilenet_v3"), recorded("small_cnn"))
    assert {alignment.confidence for alignment in alignments} == {"none"}
    assert list_mapped(alignments) == {}


def test_a_clamp_that_was_fused_away_does_not_shift_what_follows() -> None:
    nodes = (a_node(0, "XNNConv2d", 1), a_node(1, "XNNClamp", 2), a_node(2, "XNNSigmoid", 3))
    assert align_nodes(["Convolution", "Sigmoid"], *nodes) == [{0}, {2}]
    assert align_nodes(["Convolution", "Clamp", "Sigmoid"], *nodes) == [{0}, {1}, {2}]


def test_an_addition_with_limits_becomes_two_events_of_one_node() -> None:
    nodes = (a_node(0, "XNNAdd", 1, clamped=True), a_node(1, "XNNAdd", 2))
    assert align_nodes(["Add", "Clamp", "Add"], *nodes) == [{0}, {0}, {1}]


def test_packing_belongs_to_the_operator_it_feeds() -> None:
    nodes = (a_node(0, "XNNSigmoid", 1), a_node(1, "XNNFullyConnected", 2))
    assert align_nodes(["Sigmoid", "Pack LH", "Fully Connected"], *nodes) == [{0}, {1}, {1}]


def test_two_possible_nodes_are_both_named_and_so_none_is_chosen() -> None:
    nodes = (a_node(0, "XNNAdd", 1), a_node(1, "XNNClamp", 2), a_node(2, "XNNClamp", 3), a_node(3, "XNNTanh", 4))
    assert align_nodes(["Add", "Clamp", "TanH"], *nodes) == [{0}, {1, 2}, {3}]


def test_of_two_reshapes_in_a_row_the_second_is_carried_out() -> None:
    a, b, c = a_tensor(0, 2, 12), a_tensor(1, 4, 6), a_tensor(2, 24)
    nodes = (
        a_node(0, "XNNStaticReshape", 1, inputs=(a,), outputs=(b,)),
        a_node(1, "XNNStaticReshape", 2, inputs=(b,), outputs=(c,)),
    )
    assert align_nodes(["Static Reshape"], *nodes) == [{1}]


def test_a_transpose_that_a_product_does_by_itself_leaves_no_event() -> None:
    left, right = a_tensor(0, 3, 5, 4), a_tensor(1, 3, 6, 4)
    turned = a_tensor(2, 3, 4, 6)
    nodes = (
        a_node(0, "XNNStaticTranspose", 1, inputs=(a_tensor(7, 6, 3, 4),), outputs=(right,)),
        a_node(1, "XNNStaticTranspose", 2, inputs=(right,), outputs=(turned,)),
        a_node(2, "XNNBatchMatrixMultiply", 3, inputs=(left, turned), outputs=(a_tensor(3, 3, 5, 6),)),
    )
    assert align_nodes(["Transpose", "Batch Matrix Multiply"], *nodes) == [{0}, {2}]
    assert align_nodes(["Transpose", "Transpose", "Batch Matrix Multiply"], *nodes) == [{0}, {1}, {2}]


def test_a_transpose_that_a_product_cannot_do_must_leave_its_event() -> None:
    left, right = a_tensor(0, 3, 5, 4), a_tensor(1, 3, 4, 6)
    nodes = (
        a_node(0, "XNNStaticTranspose", 1, inputs=(a_tensor(7, 4, 3, 6),), outputs=(right,)),
        a_node(1, "XNNBatchMatrixMultiply", 3, inputs=(left, right), outputs=(a_tensor(3, 3, 5, 6),)),
    )
    assert align_nodes(["Batch Matrix Multiply"], *nodes) == [set()]


@pytest.mark.parametrize(
    ("handles", "confidence"), [((2, 3), "partial"), ((2, 2), "exact"), ((NO_HANDLE,) * 2, "partial")]
)
def test_an_event_of_two_possible_nodes_is_mapped_only_if_they_are_one_operator(
    handles: tuple[int, int], confidence: str, tmp_path: Path
) -> None:
    clamps = [a_node(1 + i, "XNNClamp", handle) for i, handle in enumerate(handles)]
    graph = a_graph((a_node(0, "XNNAdd", 1), *clamps, a_node(3, "XNNTanh", 4)))
    (alignment,) = align_traces(graph, calls(tmp_path, [a_call("Add (ND) #1", "Clamp (NC) #1", "TanH (NC) #1")]))
    assert alignment.confidence == confidence
    assert alignment.mapped == (3 if confidence == "exact" else 2)


def test_a_graph_with_another_number_of_partitions_maps_nothing(tmp_path: Path) -> None:
    partition = (a_node(0, "XNNTanh", 1),)
    trace = calls(tmp_path, [a_call("TanH (NC) #1")])
    assert align_traces(a_graph(partition), trace)[0].confidence == "exact"
    assert align_traces(a_graph(partition, partition), trace)[0].confidence == "none"


def test_each_kind_of_inference_is_aligned_by_itself(tmp_path: Path) -> None:
    graph = a_graph((a_node(0, "XNNAdd", 1), a_node(1, "XNNClamp", 2)), (a_node(0, "XNNTanh", 3),))
    whole = [a_call("Add (ND) #1", "Clamp (NC) #1"), a_call("TanH (NC) #1")]
    fused = [a_call("Add (ND) #1"), a_call("TanH (NC) #1")]
    trace = calls(tmp_path, whole, whole[:1], fused, whole)
    alignments = align_traces(graph, trace)
    assert {each.where: each.confidence for each in alignments} == {
        "delegate call 0 of inferences of kind 0": "exact",
        "delegate call 1 of inferences of kind 0": "exact",
        "delegate call 0 of inferences of kind 1": "none",
        "delegate call 0 of inferences of kind 2": "exact",
        "delegate call 1 of inferences of kind 2": "exact",
    }
    rows = {row.identity for row in build_operators([trace])}
    assert set(list_mapped(alignments)) == rows - {"s1.d0.0", "s1.d0.1"}


def test_a_later_trace_of_another_kind_takes_no_node_from_the_first(tmp_path: Path) -> None:
    graph = a_graph((a_node(0, "XNNTanh", 1),))
    traces = [calls(tmp_path, [a_call(name)]) for name in ("TanH (NC) #1", "Sigmoid (NC) #1")]
    assert set(list_mapped(align_traces(graph, *traces))) == {"s0.d0.0"}
    assert {row.identity for row in build_operators(traces)} == {"s0.d0.0", "s1.d0.0"}


def test_a_delegate_call_without_operators_is_a_call_all_the_same(tmp_path: Path) -> None:
    graph = a_graph((a_node(0, "XNNTanh", 1),), (a_node(0, "XNNStaticReshape", 2),))
    (alignment,) = align_traces(graph, calls(tmp_path, [a_call("TanH (NC) #1"), a_call()]))
    assert alignment.confidence == "exact"


def test_portable_operators_are_aligned_with_those_that_were_not_delegated(tmp_path: Path) -> None:
    undelegated = (a_node(0, "aten::mean.out"), a_node(1, "aten::cat.out", module="head"))
    trace = read_inferences(tmp_path, an_inference(portable=a_call("native_call_mean.out", "native_call_cat.out")))
    (alignment,) = align_traces(a_graph(undelegated=undelegated), trace)
    assert (alignment.call, alignment.where) == (-1, "the portable operators")
    assert {each: node.module_path for each, node in list_mapped([alignment]).items()} == {"p0": "", "p1": "head"}


def test_views_that_the_runtime_calls_between_operators_are_no_operators(tmp_path: Path) -> None:
    undelegated = (a_node(0, "aten::mean.out", module="norm"), a_node(1, "aten::cat.out", module="head"))
    names = ("OPERATOR_CALL", "native_call_mean.out", "OPERATOR_CALL", "OPERATOR_CALL", "native_call_cat.out")
    trace = read_inferences(tmp_path, an_inference(portable=a_call(*names)))
    (alignment,) = align_traces(a_graph(undelegated=undelegated), trace)
    assert alignment.confidence == "partial"
    found = {name: node.module_path for name, node in zip(alignment.names, alignment.nodes, strict=True) if node}
    assert found == {"native_call_mean.out": "norm", "native_call_cat.out": "head"}


@pytest.mark.parametrize(
    "events",
    [["Sigmoid"], ["Sigmoid", "TanH", "TanH"], ["TanH", "Sigmoid"], ["Sigmoid", "Softmax"], []],
    ids=["one missing", "one too many", "another order", "another kind", "none"],
)
def test_events_that_do_not_fit_are_left_unmapped_as_a_whole(events: list[str]) -> None:
    nodes = (a_node(0, "XNNSigmoid", 1), a_node(1, "XNNTanh", 2))
    assert align_nodes(events, *nodes) == [set() for _ in events]


def test_a_node_of_unknown_type_leaves_its_partition_unmapped() -> None:
    assert align_nodes(["Sigmoid", "New Thing"], a_node(0, "XNNSigmoid", 1), a_node(1, "XNNNewThing", 2)) == [
        set(),
        set(),
    ]


def test_a_quantised_tensor_times_a_function_of_itself_is_one_table_look_up() -> None:
    """Of x * sigmoid(x) XNNPACK makes one operator where x is quantised, and two where it is not."""

    def silu(dtype: str) -> tuple[GraphNode, ...]:
        data, weights = a_tensor(1, 1, 8, 8, 16, dtype=dtype), a_tensor(2, 16, 1, 1, 16, dtype=dtype, constant=True)
        product = a_tensor(3, 1, 8, 8, 16, dtype=dtype)
        gate, plain = a_tensor(4, 1, 8, 8, 16), a_tensor(5, 1, 8, 8, 16, dtype=dtype)
        return (
            a_node(0, "XNNConv2d", 1, inputs=(data, weights), outputs=(product,)),
            a_node(1, "XNNSigmoid", 2, inputs=(product,), outputs=(gate,)),
            a_node(2, "XNNConvert", 3, inputs=(gate,), outputs=(plain,)),
            a_node(3, "XNNMultiply", 4, inputs=(product, plain), outputs=(a_tensor(6, 1, 8, 8, 16, dtype=dtype),)),
        )

    fused = ["Fully Connected", "Invalid Unary Op"]
    assert align(fused, find_alternatives(silu("qint8"))) == ({0}, {1})
    assert align(["Fully Connected", "Sigmoid"], find_alternatives(silu("fp32"))) == (set(), set())
    assert align(["Fully Connected", "Sigmoid", "Multiply"], find_alternatives(silu("fp32"))) == ({0}, {1}, {3})
