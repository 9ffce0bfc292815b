"""An explanation in words: fits a terminal, names what matters, and is in every report that has one."""

from dataclasses import replace
from pathlib import Path

import pytest

from etprof.analysis.explanations import explain_model
from etprof.analysis.kernels.predictions import predict_kernels
from etprof.core.explanation import Disagreement, Explanation, KernelCheck
from etprof.core.operators import OperatorId
from etprof.core.plan import Variant
from etprof.core.predictions import CpuLevel
from etprof.reports import FORMATS, kernel_explanation
from kernel_table_builder import GRAPH, a_table
from report_builder import HOSTILE, a_report

TABLE = a_table()
EXPLAINED = explain_model(predict_kernels(GRAPH, TABLE), TABLE, model="model.pte", method="forward")
WRONG = Disagreement(OperatorId("d0.2"), "Fully Connected (NC, F32) GEMM #1", "head", "linear", "SME2", "NEON")
CHECK = KernelCheck(variant=Variant("on", 1), level=CpuLevel.SME2, agreed=2, disagreements=(WRONG,), undecided=1)
CHECKED = replace(EXPLAINED, checks=(CHECK,))


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_terminal_and_nothing_is_lost(width: int) -> None:
    text = kernel_explanation.render(CHECKED, width)
    assert max(map(len, text.splitlines())) <= width
    flat = " ".join(text.split())
    for said in (
        "model.pte, forward: 3 nodes in 1 partition, 1 operator outside of the delegate.",
        "XNNPACK of executorch 1.5.1 takes on Arm CPUs, as probed under emulation. Not in the table: 1 layer.",
        "depthwise 7x7, fp32 (1 layer,",
        "no SME2 kernel",
        "Modules: mix",
        "Shapes: 1x8x8x32 * 1x7x7x32 -> 1x8x8x32",
        "aten::gelu.out (1 operator, float16) is not delegated: GELU does not support fp16.",
        "write `0.5 * x",
        "on, 1 thread on a CPU with SME2: 2 of 3 compute operators executed what was predicted; 1 with too few",
        "Fully Connected (NC, F32) GEMM #1 (head): SME2 predicted, NEON executed",
    ):
        assert said in flat


def test_layers_without_matrices_are_shown_on_request() -> None:
    small = replace(EXPLAINED, groups=tuple(replace(group, is_compute=False) for group in EXPLAINED.groups))
    assert "depthwise 7x7" not in kernel_explanation.render(small, 80)
    assert "depthwise 7x7" in kernel_explanation.render(small, 80, all_groups=True)


def test_without_a_table_it_says_so_and_gives_no_reasons() -> None:
    text = kernel_explanation.render(replace(EXPLAINED, executorch=""), 80)
    assert "are unknown: no table of them is stored" in " ".join(text.split())
    assert "no SME2 kernel" not in text


def hostile_explanation() -> Explanation:
    groups = tuple(replace(group, modules=(HOSTILE,), kind=HOSTILE) for group in EXPLAINED.groups)
    left = tuple(replace(group, operator=HOSTILE, modules=(HOSTILE,)) for group in EXPLAINED.left)
    return replace(CHECKED, groups=groups, left=left)


@pytest.mark.parametrize("name", ["md", "html"])
def test_a_report_has_a_section_of_it_and_no_name_breaks_it(tmp_path: Path, name: str) -> None:
    report = a_report(tmp_path)
    assert "Predicted for Arm CPUs" not in FORMATS[name].render(report)
    text = FORMATS[name].render(replace(report, explanation=CHECKED))
    assert "Predicted for Arm CPUs" in text
    assert "torch.tanh" in text
    hostile = FORMATS[name].render(replace(report, explanation=hostile_explanation()))
    assert "<script>alert(1)" not in hostile


def test_the_console_tells_what_executed_as_predicted(tmp_path: Path) -> None:
    text = FORMATS["console"].render(replace(a_report(tmp_path), explanation=CHECKED))
    assert "2 of 3 compute operators executed what was predicted" in " ".join(text.split())
