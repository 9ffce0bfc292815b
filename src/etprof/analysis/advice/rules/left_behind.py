"""Compute operators that gained much less from an extension than the rest of the compute did."""

from collections.abc import Iterator, Sequence

from etprof.analysis.advice.certainty import highest_speedup
from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.core.categories import COMPUTE
from etprof.core.report import Comparison, OperatorChange, VariantReport
from etprof.core.units import format_ratio

# An operator is a candidate when it became this much faster at most, and compute as a whole twice that much.
_LITTLE = 1.1


def _find(facts: Facts) -> Iterator[Match]:
    for baseline, comparison in facts.compared:
        if facts.variant:
            yield from _find_in(facts, baseline, facts.variant, comparison)


def _find_in(
    facts: Facts, baseline: VariantReport, candidate: VariantReport, comparison: Comparison
) -> Iterator[Match]:
    """An estimate, and no bound: what they would save, were they to gain as much as the whole of the compute did."""
    compute = [c for c in comparison.operators if c.category in COMPUTE and c.baseline_ms and c.candidate_ms]
    before, after = sum(c.baseline_ms or 0 for c in compute), sum(c.candidate_ms or 0 for c in compute)
    if not after or before / after < 2 * _LITTLE - 1:
        return
    gain = before / after
    was, is_now = ({row.identity: row for row in variant.operators} for variant in (baseline, candidate))
    behind = [
        c
        for c in compute
        if c.baseline_identity in was
        and c.candidate_identity in is_now
        and (c.speedup or gain) < _LITTLE
        and _highest(c, highest_speedup(was[c.baseline_identity], is_now[c.candidate_identity]), comparison)
        < (1 + gain) / 2
    ]
    if not behind:
        return
    own_before, own_after = sum(c.baseline_ms or 0 for c in behind), sum(c.candidate_ms or 0 for c in behind)
    longest = max(behind, key=lambda c: c.candidate_ms or 0)
    identities = {c.candidate_identity for c in behind}
    place = next((facts.find_place(each) for each in facts.operators if each.identity == longest.identity), "")
    yield Match(
        title=f"Find out why {_count(len(behind))} gained little",
        reason=f"Convolutions and GEMMs together became {format_ratio(gain)} as fast, {_these(len(behind))} "
        f"{format_ratio(own_before / own_after)}; the longest is {longest.name}{f' ({place})' if place else ''} with "
        f"{format_ratio(longest.speedup or 1.0)}. The estimate assumes the same gain here.",
        operators=tuple(each for each in facts.operators if each.identity in identities),
        part=min(1 - 1 / gain, _reducible(behind, candidate)),
        is_bound=False,
    )


def _highest(change: OperatorChange, measured: float, comparison: Comparison) -> float:
    """The most that the operator may have gained, given its own interval and the noise of the comparison."""
    return max(measured, change.speedup or 1.0) * (1 + (comparison.noise_floor or 0.0))


def _reducible(changes: Sequence[OperatorChange], candidate: VariantReport) -> float:
    """The part of their time that lies above what the CPU needs for the same work; all of it where that is unknown."""
    floors = {row.identity: row.floor_ms for row in candidate.roofline.rows} if candidate.roofline else {}
    whole = sum(change.candidate_ms or 0.0 for change in changes)
    floor = sum(floors.get(change.identity, 0.0) for change in changes)
    return max(1 - floor / whole, 0.0) if whole else 1.0


def _count(operators: int) -> str:
    return f"{operators} compute operators" if operators > 1 else "one compute operator"


def _these(operators: int) -> str:
    return f"these {operators}" if operators > 1 else "this one"


RULE = Rule(
    id="left-behind",
    title="Compute that gained little from the extension",
    looks_at="convolutions and GEMMs that became at most 1.1 times as fast while all of them together gained more, "
    "beyond their own intervals and the noise of the comparison",
    bound="an estimate, and no bound: the same gain as the whole of the compute",
    advice="See which kernels they execute, and whether their data type or shape has one for this extension.",
    snippet="""\
# Which kernels each operator executes, and why not those of the extension:
#   etprof kernels run MODEL.pte
#   etprof explain RUN""",
    needs_run=True,
    level=Level.GENERAL,
    find=_find,
)
