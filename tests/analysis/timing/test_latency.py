"""Latency statistics against figures worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from builders import a_result
from etprof.analysis.timing.latency import count_outliers, list_samples, summarize_latency


def test_cold_warmup_and_steady_are_kept_apart() -> None:
    result = a_result(warmup_ns=(9_000_000, 3_000_000, 5_000_000), latency_ns=(1_000_000, 2_000_000, 3_000_000))
    summary = summarize_latency([result])
    assert summary is not None
    assert (summary.cold_ms, summary.warmup_ms, summary.median_ms) == (9.0, 4.0, 2.0)
    assert summary.max_ms == 3.0, "the cold run is no steady sample"


def test_the_figures_are_those_of_the_samples() -> None:
    results = [a_result(latency_ns=(1_000_000, 3_000_000)), a_result(index=1, latency_ns=(2_000_000, 10_000_000))]
    summary = summarize_latency(results)
    assert summary is not None
    assert (summary.blocks, summary.samples) == (2, 4)
    assert (summary.median_ms, summary.mad_ms, summary.mean_ms) == (2.5, 1.0, 4.0)
    assert summary.std_ms == pytest.approx(4.0825, abs=1e-4)
    assert summary.block_medians_ms == (2.0, 6.0)


def test_the_tracers_cost_leaves_the_cold_traced_run_aside() -> None:
    summary = summarize_latency([a_result(latency_ns=(100,) * 4, traced_ns=(900, 110, 110, 110))])
    assert summary is not None
    assert summary.tracer_cost == pytest.approx(0.10)


def test_a_variant_without_timed_iterations_has_no_latency() -> None:
    assert summarize_latency([a_result(latency_ns=())]) is None


def test_outliers_are_counted_by_class_and_never_dropped() -> None:
    samples = np.array([10.0] * 10 + [11.0] * 10 + [13.0] + [30.0])
    assert count_outliers(samples) == (1, 1)
    summary = summarize_latency([a_result(latency_ns=tuple(int(s * 1e6) for s in samples))])
    assert summary is not None
    assert (summary.samples, summary.max_ms) == (22, 30.0)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50))
def test_statistics_lie_within_the_samples(times: list[int]) -> None:
    summary = summarize_latency([a_result(latency_ns=tuple(times))])
    assert summary is not None
    ordered = (summary.min_ms, summary.p5_ms, summary.p25_ms, summary.median_ms, summary.p75_ms, summary.p95_ms)
    assert list(ordered) == sorted(ordered)
    assert summary.min_ms * (1 - 1e-12) <= summary.trimmed_mean_ms <= summary.max_ms * (1 + 1e-12)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=50))
def test_the_trimmed_mean_leaves_out_a_tenth_at_either_end(times: list[int]) -> None:
    summary = summarize_latency([a_result(latency_ns=tuple(times))])
    assert summary is not None
    assert summary.trimmed_mean_ms == pytest.approx(trim_mean(times, 0.1) / 1e6)


def test_raw_samples_are_listed_whole() -> None:
    (listed,) = list_samples([a_result(warmup_ns=(5, 6), latency_ns=(7, 8), traced_ns=(9,))])
    assert listed == {"block": 0, "cold_ns": 5, "warmup_ns": [6], "steady_ns": [7, 8], "traced_ns": [9]}
