"""Reasons out of what is predicted of an operator's node, and what is said where that is not known."""

from dataclasses import replace

import pytest

from etprof.analysis.kernels.missing_kernels import Expected, explain
from etprof.core.extensions import EXTENSIONS
from etprof.core.kernel_evidence import Executed, OperatorKernels
from etprof.core.operators import OperatorId
from etprof.core.predictions import CpuLevel, NodePrediction, Obstacle
from graph_builder import a_node, a_tensor

SME, INTEGERS, FP16 = EXTENSIONS["arm64"][1], EXTENSIONS["arm64"][2], EXTENSIONS["arm64"][-1]
AVX512 = EXTENSIONS["x86_64"][1]
# XNNPACK runs a depthwise convolution of 49 taps as IGEMM: its name is that of an ordinary convolution.
ROW = OperatorKernels(
    OperatorId("d0.0"), "Convolution (NHWC, F32) IGEMM #1", "Convolution", "", True, "", 100, 0, (), {}, None,
    Executed.NO,
)  # fmt: skip
WHY = "Depthwise convolutions have no SME2 kernel."
NODE = a_node(0, "XNNDepthwiseConv2d", inputs=(a_tensor(1, 1, 8, 8, 16), a_tensor(2, 1, 7, 7, 16, constant=True)))


def predicted(family: str | None, *, change: str = "", level: CpuLevel | None = CpuLevel.SME2) -> Expected:
    prediction = NodePrediction(
        partition=0, node=NODE, is_compute=True, families=dict.fromkeys(CpuLevel, family),
        obstacle=Obstacle.DEPTHWISE, why=WHY, change=change,
    )  # fmt: skip
    return Expected(level, {ROW.identity: prediction})


def test_the_reason_is_that_of_the_node_whatever_the_event_is_called() -> None:
    assert explain(ROW, SME, predicted("NEON")) == "Depthwise convolutions have no SME2 kernel"
    assert explain(ROW, SME, predicted("NEON", change="Use fewer.")) == f"{WHY} Use fewer"


@pytest.mark.parametrize("family", ["SME2", "SME"])
def test_what_was_predicted_and_did_not_execute_is_said_so(family: str) -> None:
    assert explain(ROW, SME, predicted(family)) == f"{family} is predicted for it, but no SME kernel was sampled"


def test_instructions_for_integers_are_no_reason_to_wonder_about_floats() -> None:
    said = explain(ROW, INTEGERS, predicted("NEON", level=CpuLevel.I8MM))
    assert said.startswith("I8MM or DotProd multiplies 8-bit integers, and this operator has floating-point values")
    assert explain(ROW, FP16, predicted("NEON", level=CpuLevel.I8MM)) == (
        "it has no FP16 kernel: NEON is predicted for it on a CPU with i8mm"
    )


@pytest.mark.parametrize(
    "expected", [Expected(), predicted(None), predicted("NEON", level=None), Expected(CpuLevel.SME2, {})]
)
def test_nothing_is_said_where_nothing_is_known(expected: Expected) -> None:
    assert explain(ROW, SME, expected) == ""
    assert explain(ROW, AVX512, expected) == ""


def test_a_portable_operator_has_no_such_kernels() -> None:
    portable = replace(ROW, name="native_call_convolution.out", delegated=False)
    assert explain(portable, SME, predicted("NEON")) == "not delegated: portable operators have no SME kernels"
