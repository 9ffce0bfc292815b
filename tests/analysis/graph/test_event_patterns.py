"""Which events a graph node may leave: none that XNNPACK would not record, and every one that it might."""

from importlib.util import find_spec
from typing import get_args

import pytest

from etprof.analysis.graph.event_patterns import (
    EVENTS,
    TABLE_LOOKUP,
    find_alternatives,
    find_portable_alternatives,
    plain_event,
)
from etprof.core.graph import GraphNode
from graph_builder import a_node, a_tensor
from parts import need

PACKED, CONVERTED, GONE = ("Pack LH", "Fully Connected"), ("Convert", "Fully Connected"), ()


def options(*nodes: GraphNode) -> list[set[tuple[str, ...]]]:
    return [set(alternatives) for alternatives in find_alternatives(nodes)]


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Convolution (NHWC, F32) IGEMM #12", "Convolution"),
        ("Fully Connected (NC, QP8, F32, QB4W) GEMM #7", "Fully Connected"),
        ("Pack LH (X32) #1", "Pack LH"),
        ("Invalid Unary Op #3", "Invalid Unary Op"),
        ("native_call_upsample_nearest2d.vec_out", "upsample_nearest2d.vec_out"),
        ("aten::mean.out", "mean.out"),
        ("OPERATOR_CALL", "OPERATOR_CALL"),
    ],
)
def test_an_event_without_its_details_is_a_kind_of_operator(name: str, plain: str) -> None:
    assert plain_event(name) == plain


def test_a_product_may_pack_or_convert_its_left_hand_side_first() -> None:
    (found,) = options(a_node(0, "XNNFullyConnected"))
    assert {PACKED, CONVERTED, ("Fully Connected",), ("Dynamic Fully Connected",)} <= found
    assert GONE not in found


def test_a_unary_operator_may_become_a_table_look_up() -> None:
    assert options(a_node(0, "XNNSigmoid")) == [{("Sigmoid",), (TABLE_LOOKUP,)}]


def test_a_tensor_times_itself_may_be_a_square() -> None:
    x, y = a_tensor(1, 4), a_tensor(2, 4)
    assert find_alternatives([a_node(0, "XNNMultiply", inputs=(x, x))]) == [(("Multiply",), ("Square",))]
    assert find_alternatives([a_node(0, "XNNMultiply", inputs=(x, y))]) == [(("Multiply",),)]


def test_only_a_node_with_limits_may_be_followed_by_a_clamp() -> None:
    assert options(a_node(0, "XNNAdd"), a_node(1, "XNNAdd", clamped=True)) == [{("Add",)}, {("Add",), ("Add", "Clamp")}]


def test_a_clamp_with_limits_is_one_event_or_none() -> None:
    assert options(a_node(0, "XNNClamp", clamped=True)) == [{("Clamp",), GONE}]


def test_a_reshape_may_vanish_only_before_a_reshape_that_reads_it() -> None:
    first = a_node(0, "XNNStaticReshape", inputs=(a_tensor(0, 24),), outputs=(a_tensor(1, 4, 6),))
    reader = a_node(1, "XNNStaticReshape", inputs=(a_tensor(1, 4, 6),), outputs=(a_tensor(2, 24),))
    stranger = a_node(1, "XNNStaticReshape", inputs=(a_tensor(9, 4, 6),), outputs=(a_tensor(2, 24),))
    assert options(first, reader) == [{("Static Reshape",), GONE}, {("Static Reshape",)}]
    assert options(first, stranger)[0] == {("Static Reshape",)}


def test_where_tensors_have_no_numbers_their_shapes_tell_who_reads_whom() -> None:
    first = a_node(0, "XNNStaticReshape", outputs=(a_tensor(None, 4, 6),))
    reader, stranger = (a_node(1, "XNNStaticReshape", inputs=(a_tensor(None, *s),)) for s in ((4, 6), (6, 4)))
    assert GONE in options(first, reader)[0]
    assert GONE not in options(first, stranger)[0]


@pytest.mark.parametrize(
    ("turned", "reader", "may_vanish"),
    [
        ((3, 4, 6), "XNNBatchMatrixMultiply", True),
        ((6, 3, 4), "XNNBatchMatrixMultiply", False),
        ((3, 4, 6), "XNNFullyConnected", False),
    ],
)
def test_a_transpose_may_vanish_only_where_a_product_swaps_the_last_two_axes_itself(
    turned: tuple[int, ...], reader: str, may_vanish: bool
) -> None:
    transpose = a_node(0, "XNNStaticTranspose", inputs=(a_tensor(0, 3, 6, 4),), outputs=(a_tensor(1, *turned),))
    found = options(transpose, a_node(1, reader, inputs=(a_tensor(1, *turned),)))
    assert (GONE in found[0]) is may_vanish


def test_a_node_of_unknown_kind_has_no_alternative() -> None:
    assert options(a_node(0, "XNNNewThing")) == [set()]


def test_a_portable_operator_is_recorded_by_its_name_or_by_its_call() -> None:
    assert find_portable_alternatives(a_node(0, "aten::mean.out")) == (("mean.out",), ("OPERATOR_CALL",))


@pytest.mark.filterwarnings("ignore")  # the wheel's own imports warn
def test_every_node_type_of_the_serialiser_is_known() -> None:
    need(find_spec("executorch"), "executorch is not installed")
    from executorch.backends.xnnpack.serialization.xnnpack_graph_schema import XNodeUnion

    # Its lowering is a chain of events that no recorded trace shows yet.
    unseen = {"XNNScaledDotProductAttention"}
    assert {kind.__name__ for kind in get_args(XNodeUnion)} - unseen == set(EVENTS)
