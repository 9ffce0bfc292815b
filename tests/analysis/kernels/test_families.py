"""The family of kernels behind the samples of one operator."""

import pytest

from etprof.analysis.kernels.families import find_family, list_functions
from etprof.core.rows import KernelUse

SME2 = KernelUse("kai_kernel_matmul_clamp_f32_sme2_mopa", "SME", 80)
SME = KernelUse("kai_kernel_matmul_clamp_f32_sme_mopa", "SME", 80)
NEON = KernelUse("libexecutorch_backend_xnnpack.so+0x100", "NEON", 100)
I8MM = KernelUse("libexecutorch_backend_xnnpack.so, unnamed I8MM code", "I8MM", 30)
COPY = KernelUse("libc.so.6, unnamed SVE code", "SVE", 60)


@pytest.mark.parametrize(
    ("kernels", "family"),
    [
        ((SME2, NEON), "SME2"),
        ((SME, NEON), "SME"),
        ((NEON, I8MM), "I8MM"),
        ((NEON,), "NEON"),
        ((NEON, COPY), "NEON"),
        ((), None),
        ((KernelUse("xnn_f32_gemm", "NEON", 8),), None),
        ((KernelUse(SME2.name, "SME", 2),), None),
        ((KernelUse("libexecutorch.so+0x1", "unknown", 100),), None),
    ],
)
def test_the_most_capable_class_that_did_some_of_the_work_counts(
    kernels: tuple[KernelUse, ...], family: str | None
) -> None:
    assert find_family(kernels) == family


def test_functions_are_those_of_the_family_that_have_names() -> None:
    assert list_functions((SME2, NEON), "SME2") == (SME2.name,)
    assert list_functions((NEON,), "NEON") == ()
