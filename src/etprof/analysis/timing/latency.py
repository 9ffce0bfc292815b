"""Latency of one variant: what its timed iterations say, cold, warm-up and steady kept apart, nothing dropped.

Outliers are flagged by Tukey's fences (Exploratory Data Analysis, 1977): beyond 1.5 interquartile ranges of the
quartiles is mild, beyond 3 is severe. MAD is the median absolute deviation, unscaled; the trimmed mean leaves out the
lowest and the highest tenth.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from etprof.core.memory import Cached, classify_cached
from etprof.core.report import LatencySummary
from etprof.core.run import BlockResult
from etprof.core.units import NS_PER_MS


def summarize_latency(results: Sequence[BlockResult]) -> LatencySummary | None:
    """None when no block has a timed iteration."""
    blocks = [np.asarray(r.latency_ns, dtype=np.float64) / NS_PER_MS for r in results if r.latency_ns]
    if not blocks:
        return None
    samples = np.concatenate(blocks)
    median = float(np.median(samples))
    mild, severe = count_outliers(samples)
    percentiles = {f"p{p}_ms": float(np.percentile(samples, p)) for p in (5, 25, 75, 90, 95, 99)}
    return LatencySummary(
        blocks=len(blocks),
        samples=len(samples),
        median_ms=median,
        mad_ms=float(np.median(np.abs(samples - median))),
        mean_ms=float(np.mean(samples)),
        trimmed_mean_ms=_trimmed_mean(samples),
        std_ms=float(np.std(samples, ddof=1)) if len(samples) > 1 else 0.0,
        min_ms=float(np.min(samples)),
        max_ms=float(np.max(samples)),
        **percentiles,
        outliers_mild=mild,
        outliers_severe=severe,
        block_medians_ms=block_medians_ms(results),
        cold_ms=_median_ms([r.warmup_ns[0] for r in _loaded_from_cache(results) if r.warmup_ns]),
        warmup_ms=_median_ms([t for r in results for t in r.warmup_ns[1:]]),
        load_ms=_median_ms([r.load_ns for r in _loaded_from_cache(results) if r.load_ns is not None]),
        tracer_cost=_tracer_cost(results),
        is_traced=any(r.latency_is_traced for r in results),
    )


def _loaded_from_cache(results: Sequence[BlockResult]) -> Sequence[BlockResult]:
    """Without blocks that found the model's file out of the page cache; all, where all did."""
    return [r for r in results if classify_cached(r.cached_share) is not Cached.OUT] or results


def _trimmed_mean(samples: NDArray[np.float64]) -> float:
    cut = len(samples) // 10
    return float(np.sort(samples)[cut : len(samples) - cut].mean())


def block_medians_ms(results: Sequence[BlockResult]) -> tuple[float, ...]:
    return tuple(float(np.median(r.latency_ns)) / NS_PER_MS for r in results if r.latency_ns)


def count_outliers(samples: NDArray[np.float64]) -> tuple[int, int]:
    """How many samples are mild and how many are severe outliers; the two are disjoint."""
    q1, q3 = np.percentile(samples, [25, 75])
    distance = np.maximum(q1 - samples, samples - q3)
    severe = int(np.sum(distance > 3 * (q3 - q1)))
    return int(np.sum(distance > 1.5 * (q3 - q1))) - severe, severe


def _median_ms(values_ns: Sequence[int]) -> float | None:
    return float(np.median(values_ns)) / NS_PER_MS if values_ns else None


def _tracer_cost(results: Sequence[BlockResult]) -> float | None:
    """How much slower traced iterations were, as a share of the untraced ones; the cold first one is left aside."""
    traced = [t for r in results for t in r.traced_ns[1:]]
    timed = [t for r in results for t in r.latency_ns]
    return float(np.median(traced) / np.median(timed)) - 1 if traced and timed else None


def list_samples(results: Sequence[BlockResult]) -> list[dict[str, object]]:
    """Every iteration of every block, in nanoseconds, for whoever wants to do better statistics."""
    return [
        {
            "block": result.index,
            "cold_ns": result.warmup_ns[0] if result.warmup_ns else None,
            "warmup_ns": list(result.warmup_ns[1:]),
            "steady_ns": list(result.latency_ns),
            "traced_ns": list(result.traced_ns),
        }
        for result in results
    ]
