"""Variants in a race: who is surely beaten by another, and which comparisons are still open.

After each round every two variants are compared as in any family of comparisons (Holm), at a level that shrinks with
the inverse square of the number of the look, so that all looks together err with a probability of at most 5 %
(Even-Dar, Mannor and Mansour, Action Elimination and Stopping Conditions for the Multi-Armed Bandit and Reinforcement
Learning Problems, Journal of Machine Learning Research 7, 2006). So a variant may be dropped, and a race may end, as
soon as the data says so, and a variant whose order against all others is known needs no block while that is so. Who
is dropped is beaten in latency by one that is no worse in anything else: racing as in Maron and Moore, The Racing
Algorithm, Artificial Intelligence Review 11, 1997. bench/explore.py measures what is claimed here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import pi

from etprof.analysis.timing.scaling import BlockTimes, Decision, Pairing, decide_family
from etprof.analysis.timing.speedup import CONFIDENCE, MINIMUM_PAIRS
from etprof.core.estimates import Verdict
from etprof.core.plan import Variant


@dataclass(frozen=True)
class Costs:
    """What is known of a variant besides its times; None where it is not. More accuracy is better, fewer bytes are."""

    accuracy: float | None = None
    file_bytes: int | None = None
    peak_bytes: int | None = None
    meets_floors: bool = True


def decide_race(
    times: Mapping[Variant, BlockTimes], left: Collection[Variant], *, seed: int, bound: float
) -> dict[Pairing, Decision]:
    """The verdict on every two variants that are left, as of the latest round; those that were dropped count too."""
    rounds = max((len(blocks) for blocks in times.values()), default=0)
    family = list(combinations(times, 2))
    return decide_family(family, times, seed=seed, bound=bound, level=_level_of(rounds), judged=left)


def _level_of(rounds: int) -> float:
    """How often the look after so many rounds may err. The first rounds that give an interval are the first look."""
    look = max(rounds - MINIMUM_PAIRS + 1, 1)
    return (1 - CONFIDENCE) * 6 / (pi * look) ** 2


def find_beaten(
    decided: Mapping[Pairing, Decision], costs: Mapping[Variant, Costs], order: Sequence[Variant], bound: float
) -> dict[Variant, Variant]:
    """Each variant that is surely worse, and the fastest that beats it; `order` has the fastest first.

    It is slower and better in nothing, or it is as fast, better in nothing and worse in something. Only who stays in
    the race beats others: sizes that differ by less than the bound do not add up along a chain.
    """
    beaten: dict[Variant, Variant] = {}
    for beats in (_is_faster, _is_as_fast_and_better):
        for variant in order:
            able = (
                other
                for other in order
                if not {variant, other} & beaten.keys() and other != variant
                if beats(find_decision(variant, other, decided), costs[other], costs[variant], bound)
                if _is_no_worse(costs[other], costs[variant], bound)
            )
            if by := next(able, None):
                beaten[variant] = by
    return beaten


def find_decision(first: Variant, second: Variant, decided: Mapping[Pairing, Decision]) -> Decision:
    """What the second is against the first."""
    return decided[first, second] if (first, second) in decided else decided[second, first].turned()


def _is_faster(found: Decision, _one: Costs, _other: Costs, _bound: float) -> bool:
    return found.verdict is Verdict.FASTER


def _is_as_fast_and_better(found: Decision, one: Costs, other: Costs, bound: float) -> bool:
    return found.verdict is Verdict.NO_DIFFERENCE and not _is_no_worse(other, one, bound)


def _is_no_worse(one: Costs, other: Costs, bound: float) -> bool:
    """Whether nothing but latency speaks for the other; what is known of only one of them may do so."""
    if other.meets_floors and not one.meets_floors:
        return False
    if (one.accuracy is None) != (other.accuracy is None) or (one.accuracy or 0.0) < (other.accuracy or 0.0):
        return False
    sizes = ((one.file_bytes, other.file_bytes), (one.peak_bytes, other.peak_bytes))
    return all(
        mine == theirs or (mine is not None and theirs is not None and mine <= theirs * (1 + bound))
        for mine, theirs in sizes
    )


def list_open(decided: Mapping[Pairing, Decision], beaten: Collection[Variant] = ()) -> list[Pairing]:
    """The comparisons about which the data says nothing yet, without those of who is beaten."""
    left = [pair for pair in decided if not {*pair} & {*beaten}]
    return [pair for pair in left if decided[pair].verdict is Verdict.INCONCLUSIVE]
