"""Reasons out of the coverage table, and what is said where it knows nothing."""

from dataclasses import replace

import pytest

from etprof.analysis.kernels.missing_kernels import explain, find_rule
from etprof.core.extensions import EXTENSIONS
from etprof.core.operators import OperatorId
from etprof.core.report import Executed, OperatorKernels
from etprof.store.coverage_file import load_coverage

SME, AVX512 = EXTENSIONS["arm64"][1], EXTENSIONS["x86_64"][1]
ROW = OperatorKernels(
    OperatorId("d0.0"), "", "GEMM", "", True, "", 100, 0, (), {}, None, Executed.NO
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "covered"),
    [
        ("Convolution (NHWC, PF32) IGEMM #1", True),
        ("Convolution (NHWC, F32) IGEMM #1", True),
        ("Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #1", True),
        ("Convolution (NHWC, QC8) IGEMM #2", True),
        ("Convolution (NHWC, F16) DWConv #1", False),
        ("Convolution (NHWC, QC8) DWConv #1", False),
        ("Deconvolution (NHWC, F32) Subconv2D #1", False),
        ("Deconvolution (NHWC, PQS8, QS8, QC8W) IGEMM #1", True),
        ("Fully Connected (NC, QS8, QC8W) GEMM #1", True),
        ("Fully Connected (NC, QS8) GEMM #1", False),
        ("Fully Connected (NC, QP8, F32, QC8W) GEMM #1", True),
        ("Fully Connected (NC, QP8, F32, QB4W) GEMM #1", False),
        ("Batch Matrix Multiply (NC, PF16) GEMM #1", True),
    ],
)
def test_recorded_names_find_their_rule(name: str, covered: bool) -> None:
    rule = find_rule(load_coverage(), name, "SME", "1.5.1")
    assert rule is not None
    assert rule.covered is covered


@pytest.mark.parametrize(
    ("changes", "version", "said"),
    [
        ({"name": "Convolution (NHWC, F32) DWConv #1"}, "1.5.1", "has no SME kernel for it: depthwise"),
        ({"name": "Fully Connected (NC, F16) GEMM #1"}, "1.5.1", "was not selected: fp16 weights have one"),
        (
            {"name": "Fully Connected (NC, PF32) GEMM #1", "selected": "PF32"},
            "1.5.1",
            "packed type PF32 was selected, but no SME kernel was sampled",
        ),
        ({"name": "native_call_convolution.out", "delegated": False}, "1.5.1", "not delegated"),
        ({"name": "Convolution (NHWC, QD8, F32) IGEMM #1"}, "1.5.1", "this operator is not in the coverage table"),
        ({"name": "Convolution (NHWC, F32) IGEMM #1"}, "9.9", "executorch 9.9 is not in the coverage table"),
    ],
)
def test_the_likely_reason_is_given(changes: dict[str, object], version: str, said: str) -> None:
    assert said in explain(replace(ROW, **changes), load_coverage(), SME, version)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "instruction_class", "covered"),
    [
        ("Fully Connected (NC, QD8, F32, QC8W) GEMM #1", "I8MM", True),
        ("Convolution (NHWC, QC8) IGEMM #1", "DotProd", True),
        ("Convolution (NHWC, QC8) DWConv #1", "I8MM", False),
        ("Convolution (NHWC, F32) IGEMM #1", "I8MM", False),
        ("Batch Matrix Multiply (NC, F16) GEMM #1", "DotProd", False),
        ("Convolution (NHWC, F16) DWConv #1", "FP16", True),
        ("Convolution (NHWC, F32) IGEMM #1", "FP16", False),
        ("Convolution (NHWC, QC8) IGEMM #1", "FP16", False),
        ("Convolution (NHWC, F32) IGEMM #1", "BF16", False),
        ("Fully Connected (NC, QS8, QC8W) GEMM #1", "SVE", False),
    ],
)
def test_other_extensions_are_a_question_of_the_data_type(name: str, instruction_class: str, covered: bool) -> None:
    rule = find_rule(load_coverage(), name, instruction_class, "1.5.1")
    assert rule is not None
    assert rule.covered is covered


def test_an_extension_without_a_table_or_an_unknown_version_gets_no_reason() -> None:
    assert explain(replace(ROW, name="Convolution (NHWC, F32) IGEMM #1"), load_coverage(), AVX512, "1.5.1") == ""
    assert explain(replace(ROW, name="Convolution (NHWC, F32) IGEMM #1"), load_coverage(), SME, "") == ""
