"""Every operator lies on a node that can be found by its id, and nodes read from those that ran before."""

import pytest

from etprof.analysis.graph.alignment import align_operators, list_mapped
from etprof.analysis.graph.view_nodes import Located, build_view_nodes, locate_operators
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.operators import OperatorId
from graph_builder import a_graph, a_node, a_tensor
from trace_builder import WITH_GRAPH, recorded, recorded_graph

CONVOLUTION = a_node(
    0, "XNNConv2d", 3, inputs=(a_tensor(0, 1, 8), a_tensor(1, 8, 8, constant=True)), outputs=(a_tensor(2, 1, 8),),
    module="stem.conv",
)  # fmt: skip
RESHAPE = a_node(1, "XNNStaticReshape", inputs=(a_tensor(2, 1, 8),), outputs=(a_tensor(3, 8),))
ADD = a_node(2, "XNNAdd", 4, inputs=(a_tensor(3, 8), a_tensor(2, 1, 8)), outputs=(a_tensor(4, 8),), module="stem")
RESIZE = a_node(0, "aten::upsample_nearest2d.vec_out", outputs=(a_tensor(None, 1, 16),), module="up")
SOFTMAX = a_node(0, "XNNSoftmax", 9, inputs=(a_tensor(0, 16),), outputs=(a_tensor(1, 16),))
GRAPH = a_graph((CONVOLUTION, RESHAPE, ADD), (SOFTMAX,), undelegated=(RESIZE,))


def located(nodes: dict[str, GraphNode], **names: str) -> Located:
    """Operators in order, by identities in which an underscore stands for the point."""
    known = {OperatorId(identity.replace("_", ".")): name for identity, name in names.items()}
    return locate_operators(known, {OperatorId(identity): node for identity, node in nodes.items()})


ALL = located(
    {"d0.0": CONVOLUTION, "d0.1": ADD, "p0": RESIZE, "d1.0": SOFTMAX},
    d0_0="Convolution #1", d0_1="Add #1", p0="native_call_upsample", d1_0="Softmax #1",
)  # fmt: skip


def test_nodes_read_from_the_tensors_that_others_make_and_calls_follow_each_other() -> None:
    nodes = {node.id: node for node in build_view_nodes(GRAPH, [ALL])}
    assert {id: node.sources for id, node in nodes.items()} == {
        "call0.node0": (),
        "call0.node1": ("call0.node0",),
        "call0.node2": ("call0.node1", "call0.node0"),
        "operator0": ("call0.node2",),
        "call1.node0": ("operator0",),
    }
    assert [node.group for node in nodes.values()] == ["stem.conv", "stem", "stem", "delegate call 1", "up"]
    assert nodes["call0.node0"].attributes["operators"] == "d0.0 Convolution #1"
    assert "operators" not in nodes["call0.node1"].attributes


def test_what_the_lowering_inserted_stands_with_its_reader_or_else_with_what_it_reads() -> None:
    before = a_node(0, "XNNStaticTranspose", outputs=(a_tensor(0, 8),))
    between = a_node(1, "XNNStaticReshape", inputs=(a_tensor(0, 8),), outputs=(a_tensor(1, 8),))
    named = a_node(2, "XNNAdd", 4, inputs=(a_tensor(1, 8),), outputs=(a_tensor(2, 8),), module="stem")
    after = a_node(3, "XNNStaticTranspose", inputs=(a_tensor(2, 8),), outputs=(a_tensor(3, 8),))
    nodes = build_view_nodes(a_graph((before, between, named, after)), [])
    assert [node.group for node in nodes] == ["stem"] * 4
    assert [node.attributes.get("module") for node in nodes] == [None, None, "stem", None]


def test_an_operator_without_a_certain_node_is_a_node_of_its_own() -> None:
    some = located({"d0.0": CONVOLUTION}, d0_0="Convolution #1", d0_1="Add #1", d0_2="Clamp #1", p0="native_call_x")
    other = located({}, d0_0="Pack #1", x0="Stray #1")
    nodes = {node.id: node for node in build_view_nodes(GRAPH, [some, other])}
    own = {id: node for id, node in nodes.items() if node.attributes.get("node") == "not certain"}
    assert list(own) == ["d0.1 Add #1", "d0.2 Clamp #1", "p0 native_call_x", "d0.0 Pack #1", "x0 Stray #1"]
    assert own["d0.1 Add #1"].sources == ("call0.node0",)
    assert own["d0.2 Clamp #1"].sources == ("d0.1 Add #1",)
    assert own["d0.2 Clamp #1"].group == "delegate call 0"
    assert set(own["p0 native_call_x"].sources) == {"call0.node2", "d0.2 Clamp #1"}


def test_what_runs_again_in_a_loop_is_joined_once() -> None:
    again = located(
        {"p0": RESIZE, "d0.0": SOFTMAX, "p1": RESIZE, "d1.0": SOFTMAX},
        p0="native_call_x", d0_0="Softmax #1", p1="native_call_x", d1_0="Softmax #1",
    )  # fmt: skip
    nodes = {
        node.id: node for node in build_view_nodes(a_graph((SOFTMAX,), (SOFTMAX,), undelegated=(RESIZE,)), [again])
    }
    assert nodes["operator0"].sources == ()
    assert nodes["call0.node0"].sources == ("operator0",)


def test_without_a_graph_operators_are_the_nodes_and_without_both_there_are_none() -> None:
    nodes = build_view_nodes(None, [located({}, d0_0="Convolution #1", d0_1="Add #1", p0="native_call_x")])
    assert [(node.id, node.sources) for node in nodes] == [
        ("d0.0 Convolution #1", ()),
        ("d0.1 Add #1", ("d0.0 Convolution #1",)),
        ("p0 native_call_x", ("d0.1 Add #1",)),
    ]
    assert build_view_nodes(None, []) == ()
    assert len(build_view_nodes(GRAPH, [])) == 5, "the graph of a model that was not traced"


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_a_recorded_model_has_unique_nodes_and_reads_only_from_earlier_ones(name: str) -> None:
    tables, graph = collect_operators([recorded(name)]), recorded_graph(name)
    nodes = list_mapped(align_operators(tables, graph))
    found = [locate_operators(dict(zip(t.identities, t.names, strict=True)), nodes) for t in tables]
    made = {node.id: node for node in build_view_nodes(graph, found)}
    assert len(made) == len(build_view_nodes(graph, found))
    assert all(id in made for each in found for id in each.ids.values())
    assert all(source in made for node in made.values() for source in node.sources)
    assert _has_no_cycle({id: node.sources for id, node in made.items()})
    assert any(node.sources for node in made.values())


def _has_no_cycle(sources: dict[str, tuple[str, ...]]) -> bool:
    left = dict(sources)
    while free := [id for id, some in left.items() if not any(source in left for source in some)]:
        for id in free:
            del left[id]
    return not left


def test_a_graph_of_another_model_keeps_its_nodes_beside_the_operators() -> None:
    other = ModelGraph("other", ((SOFTMAX,),), ())
    ids = [node.id for node in build_view_nodes(other, [located({}, d0_0="Convolution #1")])]
    assert ids == ["call0.node0", "d0.0 Convolution #1"]
