"""Samples laid over a trace: what they prove about an extension, and what they do not."""

import time
from pathlib import Path

import numpy as np
import pytest

from etprof.analysis.kernels.evidence import judge_share
from etprof.core.estimates import Interval
from etprof.core.kernel_evidence import Executed
from sample_builder import (
    ARM_SCALAR,
    AVX512,
    LIBC,
    MOPA,
    NEON,
    PLAIN,
    POOL,
    SEEN,
    SME,
    US,
    a_sampled_trace,
    met,
    place,
    prove,
    samples,
)


def test_the_verdict_counts_operators_and_their_time(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, MOPA, 20) + met(60, PLAIN, 120)))
    assert found.verdict == (
        "SME2 executed: yes, in 1 of 2 Convolution/GEMM operators, 60.0 % of their time "
        "(95 % interval 52.0 % to 67.5 % of 150 samples)."
    )
    assert [row.executed for row in found.operators] == [Executed.YES, Executed.NO, Executed.UNSEEN]
    assert found.operators[0].kernels[0].name == "kai_kernel_sme2_mopa"
    assert found.operators[1].instructions == {"NEON": 60}
    assert (found.operators[0].selected, found.operators[1].selected) == ("PF32", "")


def test_three_samples_without_sme_do_not_rule_it_out(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(3, PLAIN, 20)))
    assert found.operators[0].executed is Executed.UNCLEAR
    assert found.verdict == (
        "SME2 executed: not seen, but 3 samples in 2 Convolution/GEMM operators are too few to rule it out."
    )


def test_a_loop_counter_in_an_sme_kernel_is_that_kernel(tmp_path: Path) -> None:
    counter = place(ARM_SCALAR, "", function=0x100)
    mopa = place(SME, "", function=0x100)
    found = prove(a_sampled_trace(tmp_path), samples(met(1, mopa, 20) + met(39, counter, 30)))
    assert found.operators[0].share is not None
    assert found.operators[0].share.value == 1.0
    assert found.operators[0].instructions == {"scalar": 39, "SME": 1}


def test_code_of_no_known_function_is_kept_apart_by_class(tmp_path: Path) -> None:
    content = samples(met(1, place(SME, function=-1), 20) + met(99, place(NEON, function=-1), 30))
    found = prove(a_sampled_trace(tmp_path), content)
    assert found.operators[0].executed is Executed.NO
    assert [k.name for k in found.operators[0].kernels] == [
        "libexecutorch_backend_xnnpack.so, unnamed NEON code", "libexecutorch_backend_xnnpack.so, unnamed SME code"
    ]  # fmt: skip


def test_waiting_threads_execute_nothing(tmp_path: Path) -> None:
    content = samples(
        met(10, MOPA, 20)
        + met(50, place(NEON, "pthreadpool_wait", library=POOL), 30)
        + met(20, place(ARM_SCALAR, "syscall", library=LIBC, in_system=True), 40)
    )
    found = prove(a_sampled_trace(tmp_path), content)
    assert (found.operators[0].samples, found.operators[0].waiting) == (10, 70)
    assert (found.samples, found.waiting) == (10, 70)


def test_the_c_library_s_own_vectors_are_no_kernels(tmp_path: Path) -> None:
    copying = place(AVX512, "memcpy", library=LIBC)
    content = samples(met(50, copying, 20), "x86_64")
    found = prove(a_sampled_trace(tmp_path), content, seen=("avx512f",), hidden=("avx512f",))
    assert (found.stray, found.operators[0].executed) == (0, Executed.NO)
    assert found.operators[0].kernels[0].instruction_class == "AVX-512"


def test_an_operator_with_too_few_samples_is_counted_beside_the_verdict(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, MOPA, 20) + met(3, PLAIN, 120)))
    assert [row.executed for row in found.operators[:2]] == [Executed.YES, Executed.UNCLEAR]
    assert found.verdict.endswith("of 93 samples; too few samples in 1 operator).")


def test_samples_of_an_emulated_device_stand_for_samples_and_not_for_time(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, MOPA, 20)), times_are_real=False)
    assert "100.0 % of their samples" in found.verdict


def test_a_model_without_compute_operators_has_nothing_to_prove(tmp_path: Path) -> None:
    trace = a_sampled_trace(tmp_path, names=("Add (ND) #1", "Copy (NC, X32) #1"))
    found = prove(trace, samples(met(90, PLAIN, 20)))
    assert found.verdict == "SME2 executed: not applicable, this model has no Convolution/GEMM operators."


def test_samples_that_fell_into_no_compute_operator_leave_it_unknown(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, PLAIN, 310)))
    assert found.share is None
    assert found.verdict == "SME2 executed: unknown, no sample fell into the 2 Convolution/GEMM operators."


# smmla, sdot, fmla v0.8h, bfmmla, ld1w {z0.s}, smmla z0.s.
WORDS = {
    name: word.to_bytes(4, "little")
    for name, word in {
        "I8MM": 0x4E82A420, "DotProd": 0x4E829420, "FP16": 0x4E420C20, "BF16": 0x6E42EC20, "SVE": 0xA540A000,
        "I8MM of SVE": 0x45029820,
    }.items()
}  # fmt: skip
MODERN = ("i8mm", "dot", "bf16", "fp16arith", "sve")


@pytest.mark.parametrize(
    ("hidden", "label", "own"),
    [
        (("i8mm", "dot"), "i8mm and dot product", ("I8MM", "DotProd", "I8MM of SVE")),
        (("dot",), "dot product", ("DotProd",)),
        (("i8mm",), "i8mm", ("I8MM", "I8MM of SVE")),
        (("fp16arith", "fhm"), "fp16 arithmetic", ("FP16",)),
        (("bf16",), "bf16", ("BF16",)),
        (("sve", "sve2"), "SVE", ("SVE", "I8MM of SVE")),
    ],
)
def test_only_instructions_of_what_was_hidden_are_strays(
    tmp_path: Path, hidden: tuple[str, ...], label: str, own: tuple[str, ...]
) -> None:
    trace = a_sampled_trace(tmp_path)
    for word, code in WORDS.items():
        content = samples(met(90, PLAIN, 20) + met(1, place(code), 30))
        found = prove(trace, content, seen=MODERN, hidden=hidden)
        assert (found.extension, found.shown, found.advertised) == (label, False, True)
        assert (word, found.stray) == (word, int(word in own))


def test_a_cpu_without_sme_is_asked_for_what_it_has(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, place(WORDS["I8MM"]), 20)), seen=("i8mm", "dot"))
    assert (found.extension, found.shown, found.advertised) == ("i8mm and dot product", True, True)
    assert found.verdict.startswith("i8mm and dot product executed: yes, in 1 of 2")
    assert found.operators[0].kernels[0].instruction_class == "I8MM"


def test_a_cpu_without_any_extension_executes_neon(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, PLAIN, 20)), seen=("aes", "crc32"))
    assert found.verdict.startswith("NEON executed: yes, in 1 of 2")
    assert "SME" not in repr(found)


def test_where_features_are_not_known_nothing_is_said_to_be_shown(tmp_path: Path) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, PLAIN, 20)), seen=())
    assert (found.extension, found.shown, found.advertised) == ("SME2", None, False)


def test_streaming_sve_in_an_sme_kernel_is_no_sve(tmp_path: Path) -> None:
    """ld1w of a kernel for SME2 is executed in streaming mode, which needs no SVE."""
    trace = a_sampled_trace(tmp_path)
    kernel = samples(met(50, place(WORDS["SVE"]), 20) + met(50, place(SME), 30))
    assert prove(trace, kernel, seen=(*SEEN, *MODERN), hidden=("sve",)).stray == 0
    assert prove(trace, kernel, seen=(*SEEN, *MODERN), hidden=SEEN).stray == 100


@pytest.mark.parametrize(
    ("kernel", "label"),
    [
        ("kai_kernel_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme_mopa", "SME"),
        ("kai_kernel_matmul_clamp_f32_f32p2vlx1_f32p2vlx1biasf32_sme2_mopa", "SME2"),
        ("", "SME2"),
    ],
)
def test_a_kernels_name_tells_sme_from_sme2(tmp_path: Path, kernel: str, label: str) -> None:
    found = prove(a_sampled_trace(tmp_path), samples(met(90, place(SME, kernel), 20)))
    assert found.extension == label
    assert found.verdict.startswith(f"{label} executed: yes")


@pytest.mark.parametrize(
    ("share", "executed"),
    [
        (None, Executed.UNSEEN),
        (Interval(0.5, 0.05, 0.9), Executed.YES),
        (Interval(0.5, 0.049, 0.9), Executed.UNCLEAR),
        (Interval(0.0, 0.0, 0.10), Executed.NO),
        (Interval(0.0, 0.0, 0.11), Executed.UNCLEAR),
    ],
)
def test_the_ends_of_the_interval_decide(share: Interval | None, executed: Executed) -> None:
    assert judge_share(share) is executed


def test_kernels_that_the_libraries_name_are_told_by_extension(tmp_path: Path) -> None:
    trace = a_sampled_trace(tmp_path)
    names = ("kai_run_a_sme2_mopa", "xnn_gemm__neonsme2", "kai_run_b_neon", "unsmeared")
    assert prove(trace, samples([], kernel_names=names)).compiled_in == names[:2]
    others = ("kai_run_c_neon_dotprod", "kai_run_d_neon_i8mm", "xnn_gemm__neondotfp16arith", "kai_run_e_sme2_dot")
    assert prove(trace, samples([], kernel_names=others), seen=MODERN).compiled_in == others[:3]
    assert prove(trace, samples([])).compiled_in is None


def test_a_million_samples_take_less_than_a_second_of_the_processor(tmp_path: Path) -> None:
    trace = a_sampled_trace(tmp_path, runs=2000)
    count = 1_000_000
    places = tuple(place(SME if i % 2 else NEON, "", function=i // 8 * 64) for i in range(4000))
    content = samples(
        [],
        locations=places,
        time_ns=np.linspace(0, 2000 * 1000 * US, count).astype(np.int64),
        location=(np.arange(count) % len(places)).astype(np.uint32),
        thread=np.zeros(count, np.uint16),
    )
    start = time.process_time()
    found = prove(trace, content)
    assert time.process_time() - start < 1.0
    assert found.samples == count
