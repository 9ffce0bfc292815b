"""A simulated device whose latency at each thread count is known, down to the medians of its blocks."""

from collections.abc import Mapping, Sequence

import numpy as np

from etprof.analysis.timing.scaling import BlockTimes, build_crossover, build_curve, decide_family, list_family
from etprof.core.plan import Variant
from etprof.core.scaling import Crossover, ScalingCurve

BOUND = 0.02
# Tokens per second that a user published for 1, 2, 4, 6 and 8 threads of an M4 Pro, as milliseconds per token.
M4_PRO = {threads: 1000 / rate for threads, rate in {1: 458, 2: 892, 4: 562, 6: 453, 8: 609}.items()}


def ideal(counts: Sequence[int], serial_share: float = 0.05, one_thread_ms: float = 10.0) -> dict[int, float]:
    """Amdahl's law: every further thread gains."""
    return {n: one_thread_ms * (serial_share + (1 - serial_share) / n) for n in counts}


def contended(counts: Sequence[int], units: int, cost: float, one_thread_ms: float = 10.0) -> dict[int, float]:
    """Work that `units` units share: beyond them a further thread gains nothing and costs a share of the time."""
    return {n: one_thread_ms / min(n, units) * (1 + cost * max(n - units, 0)) for n in counts}


def simulate(
    truths: Mapping[str, Mapping[int, float]], *, rounds: int, noise: float, seed: int
) -> dict[Variant, BlockTimes]:
    """Block medians that spread by `noise` around the truth; the machine drifts, for all variants alike."""
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.normal(0.0, noise / 2, rounds))
    return {
        Variant(name, threads): {
            index: float(time * np.exp(drift[index] + rng.normal(0.0, noise))) for index in range(rounds)
        }
        for name, own in truths.items()
        for threads, time in own.items()
    }


def analyze(
    times: Mapping[Variant, BlockTimes], pair: tuple[str, str] | None = None, *, bound: float = BOUND
) -> tuple[dict[str, ScalingCurve], Crossover | None]:
    counts: dict[str, list[int]] = {}
    for variant in times:
        counts.setdefault(variant.experiment, []).append(variant.threads)
    shared = [n for n in counts[pair[0]] if n in counts[pair[1]]] if pair else []
    pairs = [(Variant(pair[0], n), Variant(pair[1], n)) for n in shared] if pair else []
    decided = decide_family(list_family(counts, pairs), times, seed=0, bound=bound)
    curves = {name: build_curve(name, times, decided, bound) for name in counts}
    return curves, build_crossover(*pair, decided, bound) if pair else None
