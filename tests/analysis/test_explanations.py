"""Why layers take the kernels they do: in groups, with their part of the model, and what to write instead."""

from dataclasses import replace

from builders import an_export_meta
from etprof.analysis.explanations import explain_model
from etprof.analysis.kernels.predictions import predict_kernels
from etprof.core.explanation import Explanation, list_explained
from etprof.core.graph import ModelGraph
from etprof.core.model import Delegation, LeftOperator
from etprof.core.predictions import CpuLevel
from kernel_table_builder import CONVOLUTION, DEPTHWISE, GELU, GRAPH, LINEAR, a_table


def explain(graph: ModelGraph = GRAPH, **settings: object) -> Explanation:
    table = a_table()
    return explain_model(predict_kernels(graph, table), table, model="model.pte", **settings)  # type: ignore[arg-type]


def test_layers_of_one_kind_and_reason_are_one_group_with_their_modules_and_shapes() -> None:
    second = replace(DEPTHWISE, index=3, module_path="mix.2")
    graph = replace(GRAPH, partitions=((*GRAPH.partitions[0], second),))
    groups = {group.kind: group for group in explain(graph).groups}
    assert list(groups) == ["3x3 convolution", "depthwise 7x7", "linear"]
    depthwise = groups["depthwise 7x7"]
    assert (depthwise.count, depthwise.modules) == (2, ("mix", "mix.2"))
    assert depthwise.shapes == ("1x8x8x32 * 1x7x7x32 -> 1x8x8x32",)
    assert depthwise.obstacle == "depthwise convolution"
    assert "no SME2 kernel" in depthwise.why
    assert depthwise.families == dict.fromkeys(CpuLevel, "NEON")
    assert groups["3x3 convolution"].why == ""


def test_without_a_run_the_largest_part_is_that_of_the_multiply_accumulates() -> None:
    explained = explain()
    shares = [group.macs_share or 0.0 for group in explained.groups]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == 1.0
    assert all(group.share is None for group in explained.groups)


def test_with_times_groups_have_their_share_and_the_slowest_comes_first() -> None:
    explained = explain(shares={(0, 0): 0.2, (0, 1): 0.65, (None, 0): 0.1})
    assert [(group.kind, group.share) for group in explained.groups] == [
        ("depthwise 7x7", 0.65), ("3x3 convolution", 0.2), ("linear", 0.0),
    ]  # fmt: skip
    assert explained.left[0].share == 0.1


def test_what_is_not_in_the_table_is_unknown() -> None:
    linear = next(group for group in explain().groups if group.kind == "linear")
    assert set(linear.families.values()) == {None}
    assert "has no row for" in linear.why


def test_operators_outside_of_the_delegate_say_why_and_what_to_write() -> None:
    (left,) = explain().left
    assert (left.operator, left.count, left.modules) == ("aten::gelu.out", 1, ("act",))
    assert left.reason == "GELU does not support fp16"
    assert "torch.tanh" in left.instead


def test_the_partitioners_own_words_come_before_ours() -> None:
    left = (LeftOperator("aten.gelu.default", 1, "something else"),)
    meta = replace(an_export_meta(), delegation=Delegation(1, 3, 1, 0.75, {}, left))
    (group,) = explain(meta=meta).left
    assert (group.reason, group.instead) == ("something else", "")


def test_every_node_is_a_row() -> None:
    rows = list(list_explained(explain()))
    assert [(row.partition, row.node, row.type) for row in rows] == [
        (0, 0, CONVOLUTION.type), (0, 1, DEPTHWISE.type), (0, 2, LINEAR.type), (None, 0, GELU.type),
    ]  # fmt: skip
    assert [row.on_sme2 for row in rows] == ["SME2", "NEON", "", ""]
