"""Thread counts against each other: the best one, where scaling ends, and where an extension stops paying.

Every two thread counts of an experiment are compared, and two experiments at each count they share: the same intervals
and verdicts as those of any pair, at confidence levels that Holm's procedure sets for all of them together. The choice
of the best count after the fact is covered, because all pairs belong to the family. bench/scaling.py measures what is
claimed here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.timing.holm import holm_levels, paired_p_value
from etprof.analysis.timing.speedup import (
    CONFIDENCE,
    MINIMUM_PAIRS,
    estimate_speedup,
    judge,
    measure_noise_floor,
    student_reach,
)
from etprof.core.estimates import Interval, Verdict
from etprof.core.plan import Variant
from etprof.core.scaling import Crossover, ScalingCurve, StepEffect, ThreadPoint, ThreadStep, ThreadVerdict

# A serial share from 20 % to 70 % tells nobody what to do.
_WIDEST_SHARE = 0.5
# A time for each block, by its index: blocks of the same index ran next to each other.
BlockTimes = Mapping[int, float]
Pairing = tuple[Variant, Variant]


@dataclass(frozen=True)
class Decision:
    """What one comparison of the family says; speed-up is that of the second variant over the first."""

    speedup: Interval | None
    verdict: Verdict

    def turned(self) -> "Decision":
        verdicts = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
        return Decision(_inverse(self.speedup), verdicts.get(self.verdict, self.verdict))


def list_family(counts: Mapping[str, Sequence[int]], pairs: Iterable[Pairing]) -> list[Pairing]:
    """Every two counts of each experiment, fewer threads first, and the pairs at one thread count."""
    steps = [
        (Variant(name, fewer), Variant(name, more))
        for name, own in counts.items()
        for fewer, more in combinations(sorted(own), 2)
    ]
    known = {Variant(name, threads) for name, own in counts.items() for threads in own}
    sides = [pair for pair in pairs if pair[0].threads == pair[1].threads and known.issuperset(pair)]
    return [*steps, *dict.fromkeys(sides)]


def decide_family(
    family: Sequence[Pairing],
    times: Mapping[Variant, BlockTimes],
    *,
    seed: int,
    bound: float,
    level: float = 1 - CONFIDENCE,
    judged: Collection[Variant] | None = None,
) -> dict[Pairing, Decision]:
    """The verdict on each comparison; those with too few pairs of blocks are inconclusive and not of the family.

    All verdicts together err with a probability of at most `level`. Where only some variants are to be `judged`, the
    comparisons with others count, and have no verdict.
    """
    ratios = {pairing: _log_ratios(times[pairing[0]], times[pairing[1]]) for pairing in family}
    known = [pairing for pairing in family if len(ratios[pairing]) >= MINIMUM_PAIRS]
    levels = dict(zip(known, holm_levels([paired_p_value(ratios[p]) for p in known], level), strict=True))
    asked = family if judged is None else [pairing for pairing in family if {*pairing} <= {*judged}]
    variants = {variant for pairing in asked for variant in pairing if pairing in levels}
    floors = {variant: measure_noise_floor([list(times[variant].values())], seed) or 0.0 for variant in variants}
    decided = {}
    for pairing in asked:
        if pairing not in levels:
            decided[pairing] = Decision(None, Verdict.INCONCLUSIVE)
            continue
        speedup = estimate_speedup(ratios[pairing], seed, confidence=1 - levels[pairing])
        floor = max(floors[variant] for variant in pairing)
        verdict, _ = judge(speedup, floor, len(ratios[pairing]), bound)
        decided[pairing] = Decision(speedup, verdict)
    return decided


def build_curve(
    experiment: str, times: Mapping[Variant, BlockTimes], decided: Mapping[Pairing, Decision], bound: float
) -> ScalingCurve:
    own = {variant.threads: blocks for variant, blocks in sorted(times.items()) if variant.experiment == experiment}
    fewest = next(iter(own))

    def decision(of: int, against: int) -> Decision:
        """What `of` threads are against another number of them."""
        one, other = Variant(experiment, against), Variant(experiment, of)
        return decided[one, other] if against < of else decided[other, one].turned()

    points = tuple(
        _build_point(threads, fewest, blocks, decision(threads, fewest).speedup if threads != fewest else None)
        for threads, blocks in own.items()
    )
    steps = tuple(
        ThreadStep(fewer, more, decision(more, fewer).speedup, _effect(decision(more, fewer), bound))
        for fewer, more in pairwise(own)
    )
    fastest = min(points, key=lambda point: point.latency_ms).threads
    others = {threads: decision(threads, fastest) for threads in own if threads != fastest}
    equal = [threads for threads, each in others.items() if each.verdict is Verdict.NO_DIFFERENCE]
    best = min([fastest, *equal])
    limit = next((step for step in steps if step.effect is not StepEffect.GAINS), None)
    fitted_to = max(best, sorted(own)[1])
    return ScalingCurve(
        experiment=experiment,
        points=points,
        steps=steps,
        best=best,
        undecided=tuple(threads for threads, each in others.items() if _may_be_better(threads, best, each, bound)),
        limit=limit,
        serial_share=fit_serial_share({count: blocks for count, blocks in own.items() if count <= fitted_to}),
        fitted_to=fitted_to if fewest == 1 else None,
    )


def build_crossover(
    baseline: str, candidate: str, decided: Mapping[Pairing, Decision], bound: float
) -> Crossover | None:
    """None where the two have no thread count in common."""
    found = {
        before.threads: each
        for (before, after), each in sorted(decided.items(), key=lambda item: item[0])
        if (before.experiment, after.experiment) == (baseline, candidate)
    }
    if not found:
        return None
    threads = next((count for count, each in found.items() if each.verdict is Verdict.SLOWER), None)
    open_counts = [count for count, each in found.items() if _may_be_slower(each, bound)]
    return Crossover(
        baseline=baseline,
        candidate=candidate,
        counts=tuple(ThreadVerdict(count, each.speedup, each.verdict) for count, each in found.items()),
        threads=threads,
        undecided=tuple(count for count in open_counts if threads is None or count < threads),
    )


def fit_serial_share(times: Mapping[int, BlockTimes]) -> Interval | None:
    """The share of the time on one thread that more threads do not shorten, and its interval over the rounds.

    Amdahl's law, T(n) = T(1) (s + (1 - s) / n), is a straight line in s, fitted to each round by least squares (Amdahl,
    Validity of the single processor approach, AFIPS 1967). None without one thread, with fewer than three rounds, or
    where the interval is so wide that it says nothing.
    """
    counts = [count for count in times if count != 1]
    rounds = sorted(set.intersection(*(set(blocks) for blocks in times.values()))) if 1 in times and counts else []
    if len(rounds) < MINIMUM_PAIRS or not all(times[1][index] for index in rounds):
        return None
    shrinks = np.array([1 - 1 / count for count in counts])
    excess = np.array([[times[n][index] / times[1][index] - 1 / n for n in counts] for index in rounds])
    share = estimate_mean(excess @ shrinks / float(shrinks @ shrinks))
    return share if share.high - share.low <= _WIDEST_SHARE else None


def estimate_mean(values: NDArray[np.float64], confidence: float = CONFIDENCE) -> Interval:
    """The mean of at least two values with Student's interval."""
    mean = float(values.mean())
    reach = student_reach(len(values) - 1, confidence) * float(values.std(ddof=1)) / sqrt(len(values))
    return Interval(mean, mean - reach, mean + reach, confidence)


def _build_point(threads: int, fewest: int, blocks: BlockTimes, speedup: Interval | None) -> ThreadPoint:
    efficiency = _mapped(speedup, lambda value: value * fewest / threads) if speedup else None
    return ThreadPoint(threads, *estimate_latency(blocks), speedup, efficiency)


def estimate_latency(blocks: BlockTimes) -> tuple[float, Interval | None]:
    """The geometric mean of the blocks, and its interval where there are enough of them."""
    logs = np.log(list(blocks.values()))
    interval = estimate_mean(logs) if len(logs) >= MINIMUM_PAIRS else None
    return exp(float(logs.mean())), _mapped(interval, exp) if interval else None


def _effect(step: Decision, bound: float) -> StepEffect:
    if step.verdict is Verdict.FASTER:
        return StepEffect.GAINS
    if step.verdict is Verdict.SLOWER:
        return StepEffect.LOSES
    gains_at_most = step.speedup.high - 1 if step.speedup else None
    return StepEffect.NOTHING if gains_at_most is not None and gains_at_most <= bound else StepEffect.INCONCLUSIVE


def _may_be_better(threads: int, best: int, against_fastest: Decision, bound: float) -> bool:
    """Whether the data leaves open that this count is as fast with fewer threads, or faster with more."""
    if threads == best or against_fastest.verdict is not Verdict.INCONCLUSIVE:
        return False
    speedup = against_fastest.speedup
    return speedup is None or threads < best or speedup.high - 1 > bound


def _may_be_slower(each: Decision, bound: float) -> bool:
    return each.verdict is Verdict.INCONCLUSIVE and (each.speedup is None or 1 / each.speedup.low - 1 > bound)


def _log_ratios(before: BlockTimes, after: BlockTimes) -> NDArray[np.float64]:
    return np.array([log(before[index] / after[index]) for index in sorted(before.keys() & after.keys())])


def _inverse(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    return Interval(1 / interval.value, 1 / interval.high, 1 / interval.low, interval.confidence)


def _mapped(interval: Interval, function: Callable[[float], float]) -> Interval:
    """The interval of a function that grows with its argument."""
    value, low, high = map(function, (interval.value, interval.low, interval.high))
    return Interval(value, low, high, interval.confidence)
