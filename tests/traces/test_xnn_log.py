"""XNNPACK's debug log: kernel names taken apart, mixed types included."""

from pathlib import Path

import pytest

from etprof.core.errors import TraceError
from etprof.traces.xnn_log import parse_kernel_name, read_xnn_log

NAMES = {
    "xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot": ("qd8 f32 qc8w", "gemm_minmax", "4x16c4", "neondot"),
    "xnn_qp8_f32_qc4w_gemm_minmax_ukernel_16x64c4__neonsme2": ("qp8 f32 qc4w", "gemm_minmax", "16x64c4", "neonsme2"),
    "xnn_qd8_f16_qb4w_gemm_minmax_ukernel_4x16c4__neondotfp16arith": (
        "qd8 f16 qb4w", "gemm_minmax", "4x16c4", "neondotfp16arith",
    ),
    "xnn_pqs8_qc8w_igemm_minmax_fp32_ukernel_32x32c4__neonsme2": (
        "pqs8 qc8w", "igemm_minmax_fp32", "32x32c4", "neonsme2",
    ),
    "xnn_pf16_f16_igemm_minmax_fp16_ukernel_32x32c2__neonsme2": (
        "pf16 f16", "igemm_minmax_fp16", "32x32c2", "neonsme2",
    ),
    "xnn_pf32_gemm_minmax_ukernel_32x32__neonsme2": ("pf32", "gemm_minmax", "32x32", "neonsme2"),
    "xnn_f16_f32acc_gemm_minmax_ukernel_4x32__avx512skx_broadcast": ("f16", "gemm_minmax", "4x32", "avx512skx"),
    "xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_ld128": ("f32", "gemm_minmax", "6x8", "neonfma"),
    "xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_9p16c__neonv8_mul16": (
        "qs8 qc8w", "dwconv_minmax_fp32", "9p16c", "neonv8",
    ),
    "xnn_f16_f32_vcvt_ukernel__neonfp16_u16": ("f16 f32", "vcvt", "", "neonfp16"),
    "xnn_x32_transposec_ukernel__4x4_sse": ("x32", "transposec", "", "sse"),
    "xnn_xx_copy_ukernel__scalar_memcpy": ("xx", "copy", "", "scalar"),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_name_is_taken_apart(name: str) -> None:
    found = parse_kernel_name(name)
    assert (" ".join(found.data_types), found.operation, found.tile, found.isa) == NAMES[name]


def test_a_log_gives_each_kernel_once_in_its_order(tmp_path: Path) -> None:
    first, second = list(NAMES)[:2]
    log = tmp_path / "xnn.log"
    log.write_text(
        f"Debug (XNNPACK): Using gemm microkernel '{second}'.\nother lines\nNote (XNNPACK): {first} and {second}\n",
        encoding="utf-8",
    )
    assert [kernel.name for kernel in read_xnn_log(log)] == [second, first]


def test_a_log_without_kernels_says_how_to_get_one(tmp_path: Path) -> None:
    log = tmp_path / "xnn.log"
    log.write_text("nothing\n", encoding="utf-8")
    with pytest.raises(TraceError, match="names no XNNPACK kernel") as caught:
        read_xnn_log(log)
    assert "XNN_LOG_LEVEL" in caught.value.hint


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_xnn_log(tmp_path / "none.log")
