"""Evidence from a recording of another profiler: its functions stand for themselves."""

from etprof.analysis.kernels.imported_functions import build_imported_evidence
from etprof.core.kernel_evidence import Executed
from sample_builder import AVX512, LIBC, MOPA, NEON, PLAIN, POOL, met, place, samples

UNREADABLE = place(b"", "some_function")


def test_every_function_is_a_row_and_the_most_sampled_is_first() -> None:
    found = build_imported_evidence("perf", samples(met(40, PLAIN, 0) + met(160, MOPA, 5)))
    assert [(row.identity, row.name, row.samples) for row in found.operators] == [
        ("f0", "kai_kernel_sme2_mopa", 160),
        ("f1", "libexecutorch_backend_xnnpack.so+0x900", 40),
    ]
    assert [row.executed for row in found.operators] == [Executed.YES, Executed.NO]
    assert found.share is not None
    assert found.share.value == 0.8
    assert found.verdict == "SME2 executed: yes (80.0 % of all samples, 95 % interval 73.9 % to 85.0 %)."


def test_what_was_recorded_while_waiting_is_counted_apart() -> None:
    waiting = place(NEON, "pthreadpool_wait", library=POOL)
    found = build_imported_evidence("perf", samples(met(30, PLAIN, 0) + met(12, waiting, 5), dropped=4, overruns=2))
    assert (found.samples, found.waiting, found.dropped, found.overruns) == (30, 12, 4, 2)
    assert len(found.operators) == 1
    assert found.verdict.startswith("SME2 executed: not seen (0.0 % of all samples")
    idle = build_imported_evidence("perf", samples(met(12, waiting, 5)))
    assert idle.verdict == "SME2 executed: unknown, all samples were taken while waiting."


def test_code_that_could_not_be_read_is_neither_yes_nor_no() -> None:
    found = build_imported_evidence("perf", samples(met(90, UNREADABLE, 0) + met(40, PLAIN, 5)))
    assert [row.executed for row in found.operators] == [Executed.UNCLEAR, Executed.NO]
    assert "; samples with neither machine code nor a known kernel name: 90)." in found.verdict


def test_code_that_could_not_be_read_is_what_its_name_says() -> None:
    found = build_imported_evidence("perf", samples(met(90, place(b"", "kai_run_matmul_sme2_mopa"), 0)))
    assert found.operators[0].executed is Executed.YES
    assert found.operators[0].category == "GEMM"


def test_a_recording_without_sme_is_evidence_of_what_it_has_and_says_nothing_was_shown() -> None:
    dot = place((0x4E829420).to_bytes(4, "little"), "xnn_qs8_gemm__neondot", function=0x40)
    found = build_imported_evidence("perf", samples(met(60, dot, 0) + met(40, PLAIN, 5)))
    assert found.verdict.startswith("dot product executed: yes (60.0 % of all samples")
    assert found.shown is None
    assert "SME" not in repr(found)


def test_the_extension_is_the_best_that_was_executed() -> None:
    copying = place(AVX512, "memcpy", library=LIBC)
    found = build_imported_evidence("perf", samples(met(9, copying, 0), "x86_64"))
    assert found.extension == "AVX-512 and AMX"
    assert found.verdict.startswith("AVX-512 and AMX executed: yes")
