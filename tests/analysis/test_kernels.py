"""Samples laid over a trace: which operator they belong to, what they prove, and what they do not."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etdump_builder import Event, build_etdump
from etprof.analysis.kernel_findings import find_kernel_doubts
from etprof.analysis.kernels import build_evidence
from etprof.analysis.sample_attribution import attribute_samples
from etprof.core.report import Executed, KernelEvidence
from etprof.core.samples import CodeLocation, KernelSamples
from etprof.core.trace import Trace
from etprof.traces.etdump import read_etdump
from sample_builder import ARM_SCALAR, AVX512, LIBC, NEON, POOL, SME, place, samples

US = 1000
SEEN = ("sme", "sme2")
FIRST, SECOND, DEPTHWISE = (
    "Convolution (NHWC, PF32) IGEMM #1",
    "Fully Connected (NC, F16) GEMM #1",
    "Convolution (NHWC, F32) DWConv #1",
)


def a_trace(tmp_path: Path, runs: int = 2, names: tuple[str, str] = (FIRST, SECOND)) -> Trace:
    """Each inference: 100 us of the first operator, 100 us of the second, 50 us of a portable one."""
    path = tmp_path / "built.etdump"
    blocks = []
    for run in range(runs):
        at = run * 1000 * US
        blocks.append(
            (
                "Execute",
                (
                    Event(names[0], at + 10 * US, at + 110 * US, 0, delegated=True),
                    Event(names[1], at + 110 * US, at + 210 * US, 0, delegated=True),
                    Event("DELEGATE_CALL", at + 5 * US, at + 220 * US, 0),
                    Event("native_call_mean.out", at + 300 * US, at + 350 * US, 1),
                    Event("OPERATOR_CALL", at + 300 * US, at + 350 * US, 1),
                    Event("Method::execute", at, at + 400 * US),
                ),
            )
        )
    path.write_bytes(build_etdump(blocks))
    return read_etdump(path)


def met(count: int, where: CodeLocation, start_us: int) -> list[tuple[int, CodeLocation]]:
    return [(start_us * US + i, where) for i in range(count)]


def evidence(trace: Trace, content: KernelSamples, **settings: Any) -> KernelEvidence:
    return build_evidence("arm", 1, [(content, trace)], **{"seen": SEEN, "version": "1.5.1", **settings})


MOPA, PLAIN = place(SME, "kai_kernel_sme2_mopa"), place(NEON, "", function=0x900)


def test_a_sample_belongs_to_the_operator_that_ran(tmp_path: Path) -> None:
    trace = a_trace(tmp_path)
    times = np.array([5, 10, 109, 111, 209, 215, 300, 349, 360, 1010, 1111, 9000], np.int64) * US
    found = attribute_samples(trace, times)
    names = [trace.identity(found.rows[i]) if i >= 0 else "" for i in found.operator.tolist()]
    assert names == ["", "d0.0", "d0.0", "d0.1", "d0.1", "", "p0", "p0", "", "d0.0", "d0.1", ""]


def test_what_was_cut_off_each_operator_moves_the_later_ones(tmp_path: Path) -> None:
    # Half a microsecond is put back for each operator before: the second begins at 110.5, not at 110.0.
    trace = a_trace(tmp_path)
    found = attribute_samples(trace, np.array([110_400, 110_600], np.int64))
    assert [trace.identity(found.rows[i]) for i in found.operator.tolist()] == ["d0.0", "d0.1"]


def test_a_trace_without_operators_takes_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "empty.etdump"
    path.write_bytes(build_etdump([("Execute", (Event("Method::execute", 0, 100),))]))
    assert attribute_samples(read_etdump(path), np.array([5], np.int64)).operator.tolist() == [-1]


def test_the_verdict_counts_operators_and_their_time(tmp_path: Path) -> None:
    found = evidence(a_trace(tmp_path), samples(met(90, MOPA, 20) + met(60, PLAIN, 120)))
    assert found.verdict == (
        "SME2 executed: yes, in 1 of 2 Convolution/GEMM operators, 60.0 % of their time "
        "(95 % interval 52.0 % to 67.5 % of 150 samples)."
    )
    assert [row.executed for row in found.operators] == [Executed.YES, Executed.NO, Executed.UNSEEN]
    assert found.operators[0].kernels[0].name == "kai_kernel_sme2_mopa"
    assert found.operators[1].instructions == {"NEON": 60}
    assert (found.operators[0].selected, found.operators[1].selected) == ("PF32", "")


def test_three_samples_without_sme_are_no_proof(tmp_path: Path) -> None:
    found = evidence(a_trace(tmp_path), samples(met(3, PLAIN, 20)))
    assert found.operators[0].executed is Executed.UNCLEAR
    assert found.verdict == ("SME2 executed: not seen, but 3 samples in 2 Convolution/GEMM operators are no proof.")
    assert [f.kind for f in find_kernel_doubts([found])] == ["too few samples"]


def test_a_loop_counter_in_an_sme_kernel_is_that_kernel(tmp_path: Path) -> None:
    counter = place(ARM_SCALAR, "", function=0x100)
    mopa = place(SME, "", function=0x100)
    found = evidence(a_trace(tmp_path), samples(met(1, mopa, 20) + met(39, counter, 30)))
    assert found.operators[0].share is not None
    assert found.operators[0].share.value == 1.0
    assert found.operators[0].instructions == {"scalar": 39, "SME": 1}


def test_code_of_no_known_function_is_kept_apart_by_class(tmp_path: Path) -> None:
    content = samples(met(1, place(SME, function=-1), 20) + met(99, place(NEON, function=-1), 30))
    found = evidence(a_trace(tmp_path), content)
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
    found = evidence(a_trace(tmp_path), content)
    assert (found.operators[0].samples, found.operators[0].waiting) == (10, 70)
    assert (found.samples, found.waiting) == (10, 70)


def test_the_c_library_s_own_vectors_are_no_kernels(tmp_path: Path) -> None:
    copying = place(AVX512, "memcpy", library=LIBC)
    content = samples(met(50, copying, 20), "x86_64")
    found = evidence(a_trace(tmp_path), content, seen=("avx512f",), hidden=("avx512f",))
    assert (found.stray, found.operators[0].executed) == (0, Executed.NO)
    assert found.operators[0].kernels[0].instruction_class == "AVX-512"


def test_several_blocks_add_up(tmp_path: Path) -> None:
    trace = a_trace(tmp_path)
    one = samples(met(10, place(ARM_SCALAR, function=0x100), 20), dropped=1)
    two = samples(met(30, place(SME, function=0x100), 20), dropped=2)
    found = build_evidence("arm", 1, [(one, trace), (two, trace)], seen=SEEN)
    assert (found.operators[0].samples, found.dropped) == (40, 3)
    # The second block shows what the function of the first one is for.
    assert found.operators[0].kernels[0].instruction_class == "SME"
    assert found.operators[0].share is not None
    assert found.operators[0].share.value == 1.0


def kinds(found: KernelEvidence) -> list[str]:
    return [finding.kind for finding in find_kernel_doubts([found])]


def test_one_sme_sample_in_an_off_arm_is_a_finding(tmp_path: Path) -> None:
    trace = a_trace(tmp_path)
    clean = samples(met(100, PLAIN, 20))
    assert kinds(evidence(trace, clean, hidden=SEEN)) == []
    stray = samples([*met(100, PLAIN, 20), (205 * US, MOPA)])
    assert kinds(evidence(trace, stray, hidden=SEEN)) == ["off arm executed the extension"]


def test_an_on_arm_without_any_is_a_finding_and_one_with_all_is_none(tmp_path: Path) -> None:
    trace = a_trace(tmp_path)
    none = evidence(trace, samples(met(100, PLAIN, 20), kernel_names=("kai_run_a_sme2_mopa", "kai_run_b_neon")))
    assert kinds(none) == ["advertised, not executed"]
    assert "kernels of it compiled in: 1" in find_kernel_doubts([none])[0].message
    assert kinds(evidence(trace, samples(met(100, MOPA, 20) + met(100, MOPA, 120)))) == []


def test_a_cpu_without_the_extension_has_nothing_to_find(tmp_path: Path) -> None:
    assert kinds(evidence(a_trace(tmp_path), samples(met(100, PLAIN, 20)), seen=("neon",))) == []


def test_an_operator_that_fell_back_is_named_with_its_reason(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, names=(FIRST, DEPTHWISE))
    found = evidence(trace, samples(met(100, MOPA, 20) + met(100, PLAIN, 120)))
    (finding,) = find_kernel_doubts([found])
    assert finding.kind == "fell back"
    assert f"{DEPTHWISE} (NEON): executorch 1.5.1 has no SME kernel for it: depthwise" in finding.message


@pytest.mark.parametrize(
    ("dropped", "overruns", "expected"), [(0, 0, []), (50, 0, ["samples dropped"]), (0, 90, ["samples missed"])]
)
def test_lost_samples_are_told(tmp_path: Path, dropped: int, overruns: int, expected: list[str]) -> None:
    content = samples(met(100, MOPA, 20) + met(100, MOPA, 120), dropped=dropped, overruns=overruns)
    assert kinds(evidence(a_trace(tmp_path), content)) == expected


def test_a_million_samples_take_less_than_a_second(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, runs=2000)
    count = 1_000_000
    places = tuple(place(SME if i % 2 else NEON, "", function=i // 8 * 64) for i in range(4000))
    content = samples(
        [],
        locations=places,
        time_ns=np.linspace(0, 2000 * 1000 * US, count).astype(np.int64),
        location=(np.arange(count) % len(places)).astype(np.uint32),
        thread=np.zeros(count, np.uint16),
    )
    start = time.perf_counter()
    found = evidence(trace, content)
    assert time.perf_counter() - start < 1.0
    assert found.samples == count
