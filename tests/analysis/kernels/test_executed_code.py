"""The functions that samples met: their names, what they are made of, and whether they only wait."""

from dataclasses import replace

import pytest

from etprof.analysis.kernels.executed_code import class_of_name, describe_code
from etprof.core.samples import CodeLocation
from sample_builder import ARM_SCALAR, AVX512, LIBC, NEON, POOL, SME, X86_SCALAR, XNNPACK, met, place, samples


def classes(*places: CodeLocation, architecture: str = "arm64") -> dict[str, str]:
    """The class of each function that these places belong to."""
    code = describe_code(samples([(0, where) for where in places], architecture))
    return {name: code.classes[number] for name, number in zip(code.names, code.function_class, strict=True)}


def test_a_function_is_named_by_its_symbol_or_by_where_it_begins() -> None:
    assert list(classes(place(NEON, "kernel"), place(NEON, function=0x900), place(NEON, function=-1))) == [
        "kernel",
        f"{XNNPACK}+0x900",
        f"{XNNPACK}, unnamed NEON code",
    ]


def test_code_of_unknown_functions_is_kept_apart_by_all_that_it_executes() -> None:
    smmla, fmla_half = ((word).to_bytes(4, "little") for word in (0x4E82A420, 0x4E420C20))
    places = [place(NEON + smmla, function=-1), place(NEON + smmla + fmla_half, function=-1), place(NEON, function=-1)]
    assert classes(*places) == {
        f"{XNNPACK}, unnamed I8MM code": "I8MM",
        f"{XNNPACK}, unnamed I8MM and FP16 code": "I8MM",
        f"{XNNPACK}, unnamed NEON code": "NEON",
    }


def test_code_outside_of_any_library_is_said_to_be() -> None:
    nowhere = replace(place(SME, function=-1), library=-1)
    code = describe_code(samples(met(1, nowhere, 0)))
    assert code.names == ("no library, unnamed SME code",)
    assert not code.is_ours[0]


def test_a_function_is_as_capable_as_the_best_instruction_seen_in_it() -> None:
    loop, product = place(ARM_SCALAR, function=0x100), place(SME, function=0x100)
    assert classes(loop, product) == {f"{XNNPACK}+0x100": "SME"}
    assert classes(loop) == {f"{XNNPACK}+0x100": "scalar"}


def test_a_kernel_whose_samples_met_a_loop_counter_only_is_what_its_name_promises() -> None:
    assert classes(place(ARM_SCALAR, "kai_matmul_sme2_mopa")) == {"kai_matmul_sme2_mopa": "SME"}
    assert classes(place(X86_SCALAR, "xnn_f32_gemm__avx512f"), architecture="x86_64") == {
        "xnn_f32_gemm__avx512f": "AVX-512"
    }


def test_a_name_promises_nothing_that_the_architecture_does_not_have() -> None:
    assert classes(place(ARM_SCALAR, "xnn_f32_gemm__avx512f")) == {"xnn_f32_gemm__avx512f": "scalar"}


def test_system_calls_and_the_thread_pool_wait_and_kernels_do_not() -> None:
    places = [
        place(NEON, "kernel"),
        place(NEON, "pthreadpool_wait", library=POOL),
        place(ARM_SCALAR, "syscall", library=LIBC, in_system=True),
        place(ARM_SCALAR, "memcpy", library=LIBC),
    ]
    code = describe_code(samples([(0, where) for where in places]))
    assert code.waits.tolist() == [False, True, True, False]
    assert code.is_ours.tolist() == [True, True, False, False]


def test_places_lead_to_their_functions_and_keep_their_own_instructions() -> None:
    places = [place(ARM_SCALAR, "a"), place(SME, "b"), place(NEON, "a", function=0x104)]
    code = describe_code(samples([(0, where) for where in places]))
    assert [code.names[number] for number in code.function.tolist()] == ["a", "b", "a"]
    assert [code.classes[number] for number in code.instruction.tolist()] == ["scalar", "SME", "NEON"]


@pytest.mark.parametrize(
    ("name", "promised"),
    [
        ("kai_run_matmul_clamp_f32_f32p2vlx1_sme2_mopa", "SME"),
        ("kai_run_lhs_pack_sme", "SME"),
        ("xnn_pf32_gemm_minmax_ukernel_1x32__neonsme2", "SME"),
        ("xnn_x32_packw_gemm__neonsve", "SVE"),
        ("kai_run_matmul_clamp_f32_qai8dxp1x4_qsi8cxp4vlx4_1x4vl_sme2_dot", "SME"),
        ("kai_run_matmul_clamp_f32_qai8dxp4x8_qsi8cxp4x8_16x4_neon_i8mm", "I8MM"),
        ("xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c8__neoni8mm", "I8MM"),
        ("kai_run_matmul_clamp_f32_qai8dxp1x8_qsi8cxp4x8_1x4_neon_dotprod", "DotProd"),
        ("xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c4__asm_aarch64_neondot_cortex_a55", "DotProd"),
        ("xnn_qd8_f16_qc8w_gemm_minmax_ukernel_4x16c4__neondotfp16arith", "DotProd"),
        ("xnn_bf16_f32_gemm_minmax_ukernel_4x8__neonbf16_bfdot", "BF16"),
        ("xnn_f16_gemm_minmax_ukernel_6x16__neonfp16arith_ld64", "FP16"),
        ("xnn_f16_f32_vcvt_ukernel__neonfp16_u16", "NEON"),
        ("xnn_f32_gemm_minmax_ukernel_4x8__asm_aarch64_neonfma_cortex_a53", "NEON"),
        ("xnn_bf16_f32_gemm__avx512amx", "AMX"),
        ("xnn_f32_gemm_minmax_ukernel_7x16c__avx512f", "AVX-512"),
        ("xnn_qs8_gemm_ukernel__avx256skx", "AVX-512"),
        ("xnn_f32_gemm_minmax_ukernel_5x16__fma3_broadcast", "AVX2"),
        ("xnn_qd8_f32_qc8w_gemm_minmax_ukernel_5x8c8__avxvnni_prfm", "AVX2"),
        ("xnn_f32_gemm_minmax_ukernel_4x16__avx_broadcast", "AVX"),
        ("xnn_f32_vadd__sse2", "SSE"),
        ("xnn_f32_vadd__ssse3", "SSE"),
        ("xnn_f32_maxpool__scalar_u1", "scalar"),
        ("xnn_create_runtime", ""),
        ("memcpy_avx512_unaligned", ""),
    ],
)
def test_the_class_that_a_kernels_name_promises(name: str, promised: str) -> None:
    assert class_of_name(name) == promised


def test_the_c_librarys_own_vectors_are_seen_but_are_not_executorchs() -> None:
    code = describe_code(samples(met(1, place(AVX512, "memcpy", library=LIBC), 0), "x86_64"))
    assert code.classes[code.function_class[0]] == "AVX-512"
    assert not code.is_ours[0]
