"""The kernel family of each node, the first condition that keeps it from the matrix unit, and what lifts it."""

from dataclasses import replace

import pytest

from etprof.analysis.kernels.obstacles import OBSTACLES, find_obstacle
from etprof.analysis.kernels.predictions import predict_kernels
from etprof.core.graph import GraphNode, TensorSpec
from etprof.core.predictions import CpuLevel, KernelCase, Obstacle
from graph_builder import a_graph
from kernel_case_builder import I8MM_LEVELS, a_layer, a_row, a_table_of

LINEAR = a_layer("XNNFullyConnected", (64, 32), (48, 32), (64, 48))
ADD = GraphNode(index=1, type="XNNAdd", inputs=(TensorSpec((4,), "fp32"),) * 2, outputs=(TensorSpec((4,), "fp32"),))
OUTSIDE = GraphNode(index=0, type="aten::bmm.out", inputs=(TensorSpec((4, 4, 4), "float32"),) * 2)
FULL = KernelCase("fully connected", "fp32", "fp32", "fp32", True, "many rows")
INT8 = KernelCase("fully connected", "qint8", "qint8", "qcint8", True, "many rows")
CONVOLUTION = KernelCase("convolution", "fp32", "fp32", "fp32", True, "many rows")
TABLE = a_table_of(a_row(FULL, "SME2"), replace(a_row(INT8, "SME2"), families=I8MM_LEVELS))


def test_a_node_has_the_families_of_its_row() -> None:
    quantized = a_layer("XNNFullyConnected", (64, 32), (48, 32), (64, 48), ("qint8", "qcint8", "qint8"))
    linear, int8 = predict_kernels(a_graph((LINEAR,), (quantized,)), TABLE)
    assert linear.families == {CpuLevel.SME2: "SME2", CpuLevel.I8MM: "NEON", CpuLevel.DOT_PRODUCT: "NEON"}
    assert int8.families == I8MM_LEVELS
    assert (linear.partition, linear.node, int8.partition) == (0, LINEAR, 1)
    assert (linear.obstacle, linear.why, linear.change, linear.is_compute, linear.is_known) == (
        None,
        "",
        "",
        True,
        True,
    )


def test_a_case_that_was_not_probed_is_unknown_and_says_which() -> None:
    (found,) = predict_kernels(a_graph((replace(LINEAR, type="XNNBatchMatrixMultiply"),)), TABLE)
    assert not found.is_known
    assert found.obstacle is None
    assert "executorch 1.5.1 has no row for batch matrix multiply with inputs of type fp32" in found.why
    assert "scripts/probe_kernels.py" in found.change


def test_without_a_table_everything_is_unknown_and_the_probe_is_named() -> None:
    found = predict_kernels(a_graph((LINEAR, ADD)), None)
    assert [prediction.is_known for prediction in found] == [False, False]
    assert found[0].why == "No table of kernels is stored for this version of ExecuTorch."
    assert found[0].change == "Probe it: python scripts/probe_kernels.py"


def test_what_multiplies_no_matrices_has_no_matrix_kernel() -> None:
    _, add = predict_kernels(a_graph((LINEAR, ADD)), TABLE)
    assert (add.is_compute, add.obstacle) == (False, Obstacle.NO_MATRIX_WORK)
    assert "Add multiplies no matrices" in add.why


def test_an_operator_outside_of_the_delegate_says_so() -> None:
    (found,) = predict_kernels(a_graph(undelegated=(OUTSIDE,)), TABLE)
    assert (found.partition, found.obstacle) == (None, Obstacle.NOT_DELEGATED)
    assert "aten::bmm.out runs outside of XNNPACK" in found.why


@pytest.mark.parametrize(
    ("case", "better", "obstacle", "change"),
    [
        (replace(INT8, weights="qint8"), INT8, Obstacle.PER_TENSOR, "per_channel"),
        (
            replace(INT8, inputs="qdint8", outputs="fp32", weights="qbint4"),
            replace(INT8, inputs="qdint8", outputs="fp32"),
            Obstacle.GROUP_WISE,
            "8-bit",
        ),
        (
            replace(FULL, inputs="fp16", outputs="fp16"),
            replace(FULL, inputs="fp16", outputs="fp16", weights="fp16"),
            Obstacle.WEIGHT_TYPE,
            "linear layer",
        ),
        (replace(FULL, shape="one row"), FULL, Obstacle.ONE_ROW, "several rows"),
        (replace(FULL, constant_weights=False), FULL, Obstacle.DYNAMIC_WEIGHTS, "parameter"),
        (replace(FULL, inputs="fp16", outputs="fp16", weights="fp16"), FULL, Obstacle.DATA_TYPE, "fp32"),
        (replace(CONVOLUTION, operator="depthwise convolution", shape="1 tap"), CONVOLUTION, Obstacle.DEPTHWISE, ""),
        (replace(CONVOLUTION, operator="grouped convolution"), CONVOLUTION, Obstacle.GROUPED, "one group"),
        (replace(CONVOLUTION, operator="transposed convolution"), CONVOLUTION, Obstacle.TRANSPOSED, "resize"),
        (
            replace(CONVOLUTION, operator="transposed convolution", shape="one group"),
            replace(INT8, operator="transposed convolution", shape="one group"),
            Obstacle.TRANSPOSED,
            "static INT8 (--quantize)",
        ),
        (replace(FULL, operator="batch matrix multiply", constant_weights=False), INT8, Obstacle.NOT_PACKED, ""),
    ],
    ids=lambda value: value.value if isinstance(value, Obstacle) else "",
)
def test_the_obstacle_is_what_differs_from_the_nearest_case_with_the_matrix_unit(
    case: KernelCase, better: KernelCase, obstacle: Obstacle, change: str
) -> None:
    found = find_obstacle(case, a_table_of(a_row(case, "NEON"), a_row(better, "SME2")))
    assert found.obstacle is obstacle
    assert found.why.endswith(".")
    assert change in found.change


def test_of_several_ways_the_cheapest_change_is_named() -> None:
    slow = replace(INT8, weights="qint8")
    other_type = replace(FULL, inputs="fp32")
    assert find_obstacle(
        slow, a_table_of(a_row(slow, "NEON"), a_row(other_type, "SME2"), a_row(INT8, "SME2"))
    ).obstacle is (Obstacle.PER_TENSOR)


def test_of_equal_changes_the_one_that_keeps_the_weights_is_named() -> None:
    slow = replace(INT8, inputs="qdint8", outputs="fp32", operator="convolution")
    half = replace(slow, inputs="fp16", outputs="fp16", weights="fp32")
    static = replace(slow, inputs="qint8", outputs="qint8")
    found = find_obstacle(slow, a_table_of(a_row(slow, "I8MM"), a_row(half, "SME2"), a_row(static, "SME2")))
    assert found.why == "This layer has no SME2 kernel in dynamic INT8; in static INT8 it executes SME2."
    assert found.change == "Export it in static INT8: --quantize."


def test_where_two_properties_differ_neither_is_said_to_be_enough() -> None:
    slow = replace(INT8, weights="qint8", shape="one row")
    found = find_obstacle(slow, a_table_of(a_row(slow, "NEON"), a_row(INT8, "SME2")))
    assert found.obstacle is Obstacle.PER_TENSOR
    assert "differs in weights and shape: fully connected with inputs of type qint8" in found.why
    assert "per_channel" in found.change
    assert "several rows" in found.change


def test_no_obstacle_stays_without_a_sentence() -> None:
    assert all(rule.why.endswith(".") for rule in OBSTACLES)
    assert all(rule.change.endswith(".") for rule in OBSTACLES if rule.change)
