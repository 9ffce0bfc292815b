"""What is known of operators outside of the delegate, by the partitioner's reason or by the finished program."""

from pathlib import Path

import pytest

from etprof.core.refusals import NO_RULE, REFUSALS, SOME_RULE, find_refusal, plain_operator, tell_reason
from graph_builder import a_node, a_tensor


@pytest.mark.parametrize(
    "name", ["aten::gelu.out", "aten.gelu.default", "gelu.default", "gelu", "dim_order_ops.gelu.default"]
)
def test_an_operator_is_known_by_any_of_its_names(name: str) -> None:
    assert plain_operator(name) == "gelu"


def test_the_partitioners_words_find_the_rewrite_and_another_reason_does_not() -> None:
    found = find_refusal("aten.gelu.default", reason="GELU does not support fp16")
    assert found is not None
    assert "torch.tanh" in found.instead
    assert find_refusal("aten.gelu.default", reason="something new") is None


def test_a_reason_of_any_operator_is_found() -> None:
    found = find_refusal("aten.mul.Tensor", reason="invalid dtype")
    assert found is not None
    assert "fp32 and fp16" in found.advice


def test_of_a_finished_program_types_and_shapes_tell() -> None:
    gelu = a_node(0, "aten::gelu.out", inputs=(a_tensor(None, 1, 8, dtype="float16"),))
    assert tell_reason(gelu) == "GELU does not support fp16"
    means = [a_node(0, "aten::mean.out", inputs=(a_tensor(None, *shape, dtype="float32"),)) for shape in MEANS]
    assert [tell_reason(each) for each in means] == [
        "mean.dim only supports keepdim=True", "mean.dim only supports averaging 4D tensors",
    ]  # fmt: skip


MEANS = ((1, 3, 8, 8), (1, 16, 8))


def test_what_no_rule_and_what_some_rule_refuses_are_told_apart() -> None:
    floats = (a_tensor(None, 1, 8, dtype="float32"),)
    assert tell_reason(a_node(0, "aten::topk.values", inputs=floats)) == NO_RULE
    assert tell_reason(a_node(0, "aten::mul.out", inputs=floats)) == SOME_RULE
    integers = (a_tensor(None, 1, 8, dtype="int64"),)
    assert tell_reason(a_node(0, "aten::mul.out", inputs=integers)) == "invalid dtype"


def test_a_rewrite_says_what_it_replaces() -> None:
    assert all(bool(each.before) == bool(each.instead) for each in REFUSALS)
    assert all(each.advice.endswith(".") for each in REFUSALS)


def test_the_guide_has_every_rewrite() -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/explain.md").read_text(encoding="utf-8")
    for each in REFUSALS:
        row = f"| `{each.operator}` | {each.reason} | `{each.before}` | `{each.instead}` |"
        assert not each.instead or row in guide, row
