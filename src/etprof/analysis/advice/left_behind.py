"""Compute operators that gained much less from an extension than the rest of the compute did."""

from collections.abc import Iterator

from etprof.analysis.advice.certainty import highest_speedup
from etprof.core.categories import COMPUTE
from etprof.core.report import Comparison, NextStep, OperatorChange, VariantReport
from etprof.core.units import format_ratio

# An operator is a candidate when it became this much faster at most, and compute as a whole twice that much.
_LITTLE = 1.1


def find_left_behind(baseline: VariantReport, candidate: VariantReport, comparison: Comparison) -> Iterator[NextStep]:
    """An estimate, and no bound: what they would save, were they to gain as much as the whole of the compute did."""
    compute = [c for c in comparison.operators if c.category in COMPUTE and c.baseline_ms and c.candidate_ms]
    before, after = sum(c.baseline_ms or 0 for c in compute), sum(c.candidate_ms or 0 for c in compute)
    if not after or before / after < 2 * _LITTLE - 1:
        return
    gain = before / after
    rows = ({row.identity: row for row in variant.operators} for variant in (baseline, candidate))
    was, is_now = rows
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
    whole_ms = sum(row.mean_ms for row in candidate.categories)
    own_before, own_after = sum(c.baseline_ms or 0 for c in behind), sum(c.candidate_ms or 0 for c in behind)
    saves_ms = own_after * (1 - 1 / gain)
    longest = max(behind, key=lambda c: c.candidate_ms or 0)
    module = is_now[longest.candidate_identity].module_path if longest.candidate_identity else ""
    where = f" ({module})" if module else ""
    yield NextStep(
        variant=candidate.variant,
        title=f"Find out why {_count(len(behind))} gained little",
        saves_ms=saves_ms,
        share=saves_ms / whole_ms if whole_ms else 0.0,
        reason=f"Convolutions and GEMMs together became {format_ratio(gain)} as fast, {_these(len(behind))} "
        f"{format_ratio(own_before / own_after)}; the longest is {longest.name}{where} with "
        f"{format_ratio(longest.speedup or 1.0)}. The estimate assumes the same gain here.",
        advice="See which kernels they execute, and whether their data type or shape has one for this extension.",
        is_bound=False,
    )


def _highest(change: OperatorChange, measured: float, comparison: Comparison) -> float:
    """The most that the operator may have gained, given its own interval and the noise of the comparison."""
    return max(measured, change.speedup or 1.0) * (1 + (comparison.noise_floor or 0.0))


def _count(operators: int) -> str:
    return f"{operators} compute operators" if operators > 1 else "one compute operator"


def _these(operators: int) -> str:
    return f"these {operators}" if operators > 1 else "this one"
