"""The table of loops is that of the runner, and peaks are looked up so that they bound."""

import re

import pytest

from conftest import ROOT
from etprof.analysis.kernels.instructions import CLASSES
from etprof.core.peaks import PEAK_LOOPS, best_of, find_loop, list_loops
from peaks_builder import some_peaks

_ROW = re.compile(r'^ +\{"(\w+)", "([\w ]*)", \d', re.M)


@pytest.mark.parametrize("architecture", PEAK_LOOPS)
def test_the_table_has_the_loops_of_the_runner_with_the_features_they_need(architecture: str) -> None:
    source = ROOT / "src" / "etprof" / "runner" / "native" / f"peak_loops_{architecture}.cpp"
    rows = _ROW.findall(source.read_text(encoding="utf-8"))
    assert [(loop.name, " ".join(loop.features)) for loop in PEAK_LOOPS[architecture]] == rows
    assert {loop.instruction_class for loop in PEAK_LOOPS[architecture]} <= set(CLASSES[architecture])


def test_a_count_between_two_is_bounded_by_the_larger_and_one_beyond_by_the_largest() -> None:
    peaks = some_peaks()
    assert [peaks.choose_count(threads) for threads in (1, 2, 3, 64)] == [1, 2, 2, 2]
    rate = peaks.find_throughput("avx2_fp32", 3)
    assert rate is not None
    assert rate.value == 100.0
    assert peaks.find_throughput("sme_fp32", 1) is None


def test_the_bandwidth_of_a_level_is_the_best_of_its_accesses() -> None:
    peaks = some_peaks()
    assert peaks.levels == ("L1", "L2", "last level", "memory")
    bandwidth = peaks.find_bandwidth("L2", 2)
    assert bandwidth is not None
    assert bandwidth.value == 200.0
    assert peaks.find_bandwidth("tape", 1) is None


def test_the_best_loop_is_one_that_was_measured() -> None:
    found = best_of(some_peaks(), PEAK_LOOPS["x86_64"], 1)
    assert found is not None
    assert (found[0].name, found[1].value) == ("avx512_vnni_int8", 400.0)
    assert best_of(some_peaks(), PEAK_LOOPS["arm64"], 1) is None


def test_a_cpu_executes_the_loops_whose_features_it_has() -> None:
    assert [loop.name for loop in list_loops("arm64", {"dot", "sme"})][:3] == ["neon_fp32", "neon_int8", "sdot_int8"]
    assert list_loops("riscv64", ()) == ()
    assert find_loop("arm64", "of_tomorrow") is None
