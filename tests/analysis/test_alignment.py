"""From events back to graph nodes: complete on real models, and nothing that is only a guess."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from etdump_builder import Event, build_etdump
from etprof.analysis.alignment import align, align_traces, iter_mapped
from etprof.analysis.event_patterns import EVENTS, find_alternatives
from etprof.analysis.layout_changes import find_nodes, name_modules
from etprof.analysis.model_graph import NO_HANDLE, GraphNode, ModelGraph, TensorSpec, parse_graph
from etprof.analysis.operators import build_operators
from etprof.core.errors import StoreError
from etprof.core.trace import Trace
from etprof.traces.etdump import read_etdump
from parts import need

DATA = Path(__file__).parents[1] / "data" / "traces"
GRAPHS = sorted(DATA.glob("*.graph.json"))


def load_graph(path: Path) -> ModelGraph:
    return parse_graph(json.loads(path.read_text(encoding="utf-8")), str(path))


def trace_of(graph: Path) -> Path:
    return graph.with_name(graph.name.replace(".graph.json", ".etdump"))


def node(
    index: int,
    type: str,
    handle: int,
    *,
    clamped: bool = False,
    inputs: tuple[TensorSpec, ...] = (),
    outputs: tuple[TensorSpec, ...] = (),
) -> GraphNode:
    return GraphNode(index, type, handle, clamped, inputs, outputs, (), "")


def tensor(value: int, *shape: int) -> TensorSpec:
    return TensorSpec(shape, "fp32", value=value)


def align_nodes(events: list[str], *nodes: GraphNode) -> list[set[int]]:
    return list(align(events, find_alternatives(nodes)))


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.name.split(".")[0])
def test_every_event_of_the_recorded_models_is_mapped(path: Path) -> None:
    alignments = align_traces([read_etdump(trace_of(path))], load_graph(path))
    assert {alignment.confidence for alignment in alignments} == {"exact"}
    assert sum(len(alignment.nodes) for alignment in alignments) > 8


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.name.split(".")[0])
def test_the_mapping_keeps_the_order_of_the_graph(path: Path) -> None:
    for alignment in align_traces([read_etdump(trace_of(path))], load_graph(path)):
        indices = [mapped.index for mapped in alignment.nodes if mapped]
        assert indices == sorted(indices)


def test_the_module_of_a_known_layer_is_found() -> None:
    path = DATA / "small_cnn.graph.json"
    trace = read_etdump(trace_of(path))
    rows = name_modules(build_operators([trace]), find_nodes([trace], load_graph(path)))
    named = {row.identity: row.module_path for row in rows if row.module_path}
    assert named == {"d0.1": "c1", "d0.2": "dw", "d0.3": "pw", "d1.0": "fc"}


def test_the_graph_of_another_model_maps_nothing() -> None:
    trace = read_etdump(DATA / "small_cnn.etdump")
    alignments = align_traces([trace], load_graph(DATA / "mobilenet_v3.graph.json"))
    assert {alignment.confidence for alignment in alignments} == {"none"}
    assert dict(iter_mapped(alignments)) == {}


def test_a_clamp_that_was_fused_away_does_not_shift_what_follows() -> None:
    nodes = (node(0, "XNNConv2d", 1), node(1, "XNNClamp", 2), node(2, "XNNSigmoid", 3))
    assert align_nodes(["Convolution", "Sigmoid"], *nodes) == [{0}, {2}]
    assert align_nodes(["Convolution", "Clamp", "Sigmoid"], *nodes) == [{0}, {1}, {2}]


def test_an_addition_with_limits_becomes_two_events_of_one_node() -> None:
    nodes = (node(0, "XNNAdd", 1, clamped=True), node(1, "XNNAdd", 2))
    assert align_nodes(["Add", "Clamp", "Add"], *nodes) == [{0}, {0}, {1}]


def test_packing_belongs_to_the_operator_it_feeds() -> None:
    nodes = (node(0, "XNNSigmoid", 1), node(1, "XNNFullyConnected", 2))
    assert align_nodes(["Sigmoid", "Pack LH", "Fully Connected"], *nodes) == [{0}, {1}, {1}]


def test_two_possible_nodes_are_both_named_and_so_none_is_chosen() -> None:
    nodes = (node(0, "XNNAdd", 1), node(1, "XNNClamp", 2), node(2, "XNNClamp", 3), node(3, "XNNTanh", 4))
    assert align_nodes(["Add", "Clamp", "TanH"], *nodes) == [{0}, {1, 2}, {3}]


def test_of_two_reshapes_in_a_row_the_second_is_carried_out() -> None:
    a, b, c = tensor(0, 2, 12), tensor(1, 4, 6), tensor(2, 24)
    nodes = (
        node(0, "XNNStaticReshape", 1, inputs=(a,), outputs=(b,)),
        node(1, "XNNStaticReshape", 2, inputs=(b,), outputs=(c,)),
    )
    assert align_nodes(["Static Reshape"], *nodes) == [{1}]


def test_a_transpose_that_a_product_does_by_itself_leaves_no_event() -> None:
    left, right = tensor(0, 3, 5, 4), tensor(1, 3, 6, 4)
    turned = tensor(2, 3, 4, 6)
    nodes = (
        node(0, "XNNStaticTranspose", 1, inputs=(tensor(7, 6, 3, 4),), outputs=(right,)),
        node(1, "XNNStaticTranspose", 2, inputs=(right,), outputs=(turned,)),
        node(2, "XNNBatchMatrixMultiply", 3, inputs=(left, turned), outputs=(tensor(3, 3, 5, 6),)),
    )
    assert align_nodes(["Transpose", "Batch Matrix Multiply"], *nodes) == [{0}, {2}]
    assert align_nodes(["Transpose", "Transpose", "Batch Matrix Multiply"], *nodes) == [{0}, {1}, {2}]


def test_a_transpose_that_a_product_cannot_do_must_leave_its_event() -> None:
    left, right = tensor(0, 3, 5, 4), tensor(1, 3, 4, 6)
    nodes = (
        node(0, "XNNStaticTranspose", 1, inputs=(tensor(7, 4, 3, 6),), outputs=(right,)),
        node(1, "XNNBatchMatrixMultiply", 3, inputs=(left, right), outputs=(tensor(3, 3, 5, 6),)),
    )
    assert align_nodes(["Batch Matrix Multiply"], *nodes) == [set()]


def read_call(tmp_path: Path, *names: str) -> Trace:
    return read_inferences(tmp_path, [names])


def read_inferences(tmp_path: Path, *inferences: Sequence[tuple[str, ...]]) -> Trace:
    """A trace of inferences, each a list of delegate calls, each the names of its operators."""
    events = []
    for number, calls in enumerate(inferences):
        for instruction, names in enumerate(calls):
            at = 100 * number + 10 * instruction
            events += [Event(name, at + 2, at + 3, instruction, delegated=True) for name in names]
            events.append(Event("DELEGATE_CALL", at + 1, at + 9, instruction))
        events.append(Event("Method::execute", 100 * number, 100 * number + 99))
    path = tmp_path / "built.etdump"
    path.write_bytes(build_etdump([("Execute", events)]))
    return read_etdump(path)


@pytest.mark.parametrize(
    ("handles", "confidence"), [((2, 3), "partial"), ((2, 2), "exact"), ((NO_HANDLE,) * 2, "partial")]
)
def test_an_event_of_two_possible_nodes_is_mapped_only_if_they_are_one_operator(
    handles: tuple[int, int], confidence: str, tmp_path: Path
) -> None:
    clamps = [node(1 + i, "XNNClamp", handle) for i, handle in enumerate(handles)]
    graph = ModelGraph(((node(0, "XNNAdd", 1), *clamps, node(3, "XNNTanh", 4)),), ())
    trace = read_call(tmp_path, "Add (ND) #1", "Clamp (NC) #1", "TanH (NC) #1")
    (alignment,) = align_traces([trace], graph)
    assert alignment.confidence == confidence
    assert alignment.mapped == (3 if confidence == "exact" else 2)


def test_a_graph_with_another_number_of_partitions_maps_nothing(tmp_path: Path) -> None:
    partition = (node(0, "XNNTanh", 1),)
    trace = read_call(tmp_path, "TanH (NC) #1")
    assert align_traces([trace], ModelGraph((partition,), ()))[0].confidence == "exact"
    assert align_traces([trace], ModelGraph((partition, partition), ()))[0].confidence == "none"


def test_each_kind_of_inference_is_aligned_by_itself(tmp_path: Path) -> None:
    graph = ModelGraph(((node(0, "XNNAdd", 1), node(1, "XNNClamp", 2)), (node(0, "XNNTanh", 3),)), ())
    whole = [("Add (ND) #1", "Clamp (NC) #1"), ("TanH (NC) #1",)]
    fused = [("Add (ND) #1",), ("TanH (NC) #1",)]
    trace = read_inferences(tmp_path, whole, whole[:1], fused, whole)
    found = {a.where: a.confidence for a in align_traces([trace], graph)}
    assert found == {
        "delegate call 0 of inferences of kind 0": "exact",
        "delegate call 1 of inferences of kind 0": "exact",
        "delegate call 0 of inferences of kind 1": "none",
        "delegate call 0 of inferences of kind 2": "exact",
        "delegate call 1 of inferences of kind 2": "exact",
    }
    rows = {row.identity for row in build_operators([trace])}
    assert set(find_nodes([trace], graph)) == rows - {"s1.d0.0", "s1.d0.1"}


def test_a_later_trace_of_another_kind_takes_no_node_from_the_first(tmp_path: Path) -> None:
    graph = ModelGraph(((node(0, "XNNTanh", 1),),), ())
    traces = [read_call(tmp_path, "TanH (NC) #1"), read_call(tmp_path, "Sigmoid (NC) #1")]
    assert set(find_nodes(traces, graph)) == {"s0.d0.0"} < {row.identity for row in build_operators(traces)}


def test_a_delegate_call_without_operators_is_a_call_all_the_same(tmp_path: Path) -> None:
    graph = ModelGraph(((node(0, "XNNTanh", 1),), (node(0, "XNNStaticReshape", 2),)), ())
    (alignment,) = align_traces([read_inferences(tmp_path, [("TanH (NC) #1",), ()])], graph)
    assert alignment.confidence == "exact"


@pytest.mark.parametrize(
    "events",
    [["Sigmoid"], ["Sigmoid", "TanH", "TanH"], ["TanH", "Sigmoid"], ["Sigmoid", "Softmax"], []],
    ids=["one missing", "one too many", "another order", "another kind", "none"],
)
def test_events_that_do_not_fit_are_left_unmapped_as_a_whole(events: list[str]) -> None:
    nodes = (node(0, "XNNSigmoid", 1), node(1, "XNNTanh", 2))
    assert align_nodes(events, *nodes) == [set() for _ in events]


def test_a_node_of_unknown_type_leaves_its_partition_unmapped() -> None:
    assert align_nodes(["Sigmoid", "New Thing"], node(0, "XNNSigmoid", 1), node(1, "XNNNewThing", 2)) == [set(), set()]


@pytest.mark.filterwarnings("ignore")  # the wheel's own imports warn
def test_every_node_type_of_the_serialiser_is_known() -> None:
    need(find_spec("executorch"), "executorch is not installed")
    from executorch.backends.xnnpack.serialization.xnnpack_graph_schema import XNodeUnion

    # Its lowering is a chain of events that no recorded trace shows yet.
    unseen = {"XNNScaledDotProductAttention"}
    assert {kind.__name__ for kind in get_args(XNodeUnion)} - unseen == set(EVENTS)


@pytest.mark.parametrize("content", [None, [], {}, {"schema_version": 2}, {"schema_version": 1, "partitions": [{}]}])
def test_a_file_that_is_no_graph_is_refused(content: object) -> None:
    with pytest.raises(StoreError, match=r"x\.json") as caught:
        parse_graph(content, "x.json")
    assert "--save-graph" in caught.value.hint
