"""An operator's identity: one spelling, one order; and the same operator of two variants finds its partner."""

import copy
import pickle
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from etprof.core.operators import DELEGATED, FUNCTION, PORTABLE, STRAY, OperatorId, group_by_call, pair_operators

numbers = st.integers(0, 10_000)


@dataclass(frozen=True)
class Operator:
    identity: OperatorId
    name: str


def operators(*spelled: tuple[str, str]) -> list[Operator]:
    return [Operator(OperatorId(identity), name) for identity, name in spelled]


def pairs(before: list[Operator], after: list[Operator]) -> list[tuple[str, str]]:
    return [(b.identity if b else "", a.identity if a else "") for b, a in pair_operators(before, after)]


@pytest.mark.parametrize(
    ("text", "group", "call", "position", "kind"),
    [
        ("d0.3", DELEGATED, 0, 3, None),
        ("d12.0", DELEGATED, 12, 0, None),
        ("p2", PORTABLE, 0, 2, None),
        ("x7", STRAY, 0, 7, None),
        ("f11", FUNCTION, 0, 11, None),
        ("s0.d1.3", DELEGATED, 1, 3, 0),
        ("s10.p2", PORTABLE, 0, 2, 10),
    ],
)
def test_a_spelling_says_kind_group_call_and_position(
    text: str, group: str, call: int, position: int, kind: int | None
) -> None:
    identity = OperatorId(text)
    assert (identity.group, identity.call, identity.position, identity.kind) == (group, call, position, kind)
    assert identity == text
    assert OperatorId.build(group, position, call=call, kind=kind) == identity


@given(st.sampled_from([DELEGATED, PORTABLE, STRAY, FUNCTION]), numbers, numbers, st.none() | numbers)
def test_what_was_built_is_read_back(group: str, position: int, call: int, kind: int | None) -> None:
    built = OperatorId.build(group, position, call=call if group == DELEGATED else 0, kind=kind)
    read = OperatorId(str(built))
    assert read == built
    assert (read.order, read.kind, read.call) == (built.order, built.kind, built.call)


@pytest.mark.parametrize("text", ["", "d", "d3", "p1.2", "q0", "s1", "s.d0.0", "d0.3 ", "d0.3\n", "d-1.0", "d0.\u0663"])
def test_what_is_no_identity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an operator's identity"):
        OperatorId(text)


def test_identities_sort_by_kind_of_inference_call_and_position_as_numbers() -> None:
    ordered = ["d0.2", "d0.10", "d2.0", "d10.0", "p0", "s1.d0.0", "s10.d0.0"]
    assert sorted(map(OperatorId, reversed(ordered)), key=lambda identity: identity.order) == ordered


def test_an_identity_is_moved_to_another_kind_of_inference_and_back() -> None:
    identity = OperatorId("d1.3")
    assert identity.of_kind(2) == "s2.d1.3"
    assert identity.of_kind(2).kind == 2
    assert identity.of_kind(2).of_kind(None) == identity


def test_copies_and_pickles_keep_the_parts() -> None:
    identity = OperatorId("s2.d1.3")
    copies = [copy.copy(identity), copy.deepcopy(identity)]
    copies += [pickle.loads(pickle.dumps(identity, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for each in copies:
        assert type(each) is OperatorId
        assert (each, each.order, each.kind) == (identity, identity.order, 2)


def test_in_json_it_is_text_and_comes_back_as_an_identity() -> None:
    adapter = TypeAdapter(dict[str, OperatorId])
    text = adapter.dump_json({"identity": OperatorId("s1.d0.3")})
    assert text == b'{"identity":"s1.d0.3"}'
    read = adapter.validate_json(text)["identity"]
    assert type(read) is OperatorId
    assert read.call == 0
    with pytest.raises(ValidationError, match="is not an operator's identity"):
        adapter.validate_json('{"identity": "nothing"}')


def test_rows_are_grouped_by_call_in_order_of_execution() -> None:
    rows = operators(("p0", "a"), ("d0.10", "b"), ("d0.9", "c"), ("d1.0", "d"), ("p1", "e"), ("s1.d0.0", "f"))
    groups = {key: [row.identity for row in group] for key, group in group_by_call(rows).items()}
    assert groups == {
        (0, DELEGATED, 0): ["d0.9", "d0.10"],
        (0, DELEGATED, 1): ["d1.0"],
        (0, PORTABLE, 0): ["p0", "p1"],
        (1, DELEGATED, 0): ["s1.d0.0"],
    }


def test_operators_of_the_same_kinds_are_paired_by_order_whatever_their_kernels() -> None:
    before = operators(("d0.0", "Transpose (ND, X32) #1"), ("d0.1", "Convolution (NHWC, F32) IGEMM #1"))
    after = operators(("d0.1", "Convolution (NHWC, PF32) GEMM #4"), ("d0.0", "Transpose (ND, X32) #9"))
    assert pairs(before, after) == [("d0.0", "d0.0"), ("d0.1", "d0.1")]


def test_an_operator_that_only_one_variant_has_stands_alone() -> None:
    before = operators(("d0.0", "Add (ND) #1"), ("d0.1", "Convolution (NHWC, F32) IGEMM #1"))
    after = operators(("d0.0", "Add (ND) #1"), ("d0.1", "Pack LH (X32) #1"), ("d0.2", "Convolution (NHWC) IGEMM #1"))
    assert pairs(before, after) == [("d0.0", "d0.0"), ("", "d0.1"), ("d0.1", "d0.2")]
    assert pairs(after, before) == [("d0.0", "d0.0"), ("d0.1", ""), ("d0.2", "d0.1")]


def test_sequences_of_the_same_length_are_aligned_where_their_kinds_differ() -> None:
    before = operators(("d0.0", "Add (ND) #1"), ("d0.1", "Multiply (ND) #1"))
    after = operators(("d0.0", "Multiply (ND) #1"), ("d0.1", "Softmax (NC, F32) #1"))
    assert pairs(before, after) == [("d0.0", ""), ("d0.1", "d0.0"), ("", "d0.1")]


def test_an_operator_finds_no_partner_in_another_call_or_another_kind_of_inference() -> None:
    before = operators(("s0.d0.0", "Add (ND) #1"), ("s1.d0.0", "Mul (ND) #1"))
    after = operators(("s0.d1.0", "Add (ND) #1"), ("s1.d0.0", "Mul (ND) #1"))
    assert pairs(before, after) == [("s0.d0.0", ""), ("", "s0.d1.0"), ("s1.d0.0", "s1.d0.0")]
