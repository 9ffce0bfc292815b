"""The data type in an operator's name."""

import pytest

from etprof.core.data_types import find_data_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Convolution (NHWC, F32) IGEMM #1", "fp32"),
        ("Convolution (NHWC, PF16) IGEMM #1", "fp16 packed"),
        ("Fully Connected (NC, QS8, QC8W) GEMM #1", "int8"),
        ("Fully Connected (NC, QP8, F32, QB4W) GEMM #1", "int8 dynamic packed, 4-bit weights"),
        ("Fully Connected (NC, F32, QC8W) GEMM #1", "fp32, 8-bit weights"),
        ("Fully Connected (NC, BF16, F32) GEMM #1", "bf16"),
        ("Transpose (ND, X16) #1", "16-bit data"),
        ("Add (ND) #1", ""),
        ("native_call_add.out", ""),
    ],
)
def test_the_name_tells_the_family(name: str, expected: str) -> None:
    assert find_data_type(name) == expected
