"""Peaks from passes: the fastest tenth, with an interval that covers it as often as it says."""

import random
from pathlib import Path

import pytest

from etprof.analysis.timing.peaks import build_peaks, estimate_peak
from etprof.traces.peaks_result import read_peaks_result
from peaks_builder import an_answer


@pytest.mark.parametrize("count", [1, 2, 5, 20, 100])
def test_the_interval_holds_the_estimate_and_lies_within_the_passes(count: int) -> None:
    rates = [float(n) for n in range(1, count + 1)]
    peak = estimate_peak(rates)
    assert min(rates) <= peak.low <= peak.value <= peak.high <= max(rates)


def test_disturbed_passes_do_not_lower_a_peak() -> None:
    quiet = [100.0 + 0.01 * n for n in range(20)]
    disturbed = [rate if n % 3 else rate / 2 for n, rate in enumerate(quiet)]
    assert estimate_peak(disturbed).value == pytest.approx(estimate_peak(quiet).value, rel=0.001)


def test_the_lower_end_is_below_the_quantile_as_often_as_it_says() -> None:
    chance = random.Random(1)
    lower = [estimate_peak([chance.random() for _ in range(20)]).low for _ in range(2000)]
    assert sum(low <= 0.9 for low in lower) / len(lower) >= 0.965


def test_an_answer_becomes_peaks(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text(an_answer())
    peaks = build_peaks(read_peaks_result(tmp_path / "answer.json"), "x86_64", "2026-01-02")
    assert peaks.clock_ghz is not None
    assert peaks.clock_ghz.value == 3.6
    assert [(t.loop, t.threads, t.gmac_per_s.value) for t in peaks.throughputs] == [("avx2_fp32", 1, 57.0)]
    assert [(b.level, b.access, b.gb_per_s.high) for b in peaks.bandwidths] == [("L1", "read", 210.0)]
