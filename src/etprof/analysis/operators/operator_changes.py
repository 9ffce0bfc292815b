"""Baseline against candidate, operator by operator: what each gained, what now dominates, what is left to gain."""

from collections.abc import Sequence
from statistics import quantiles

from etprof.core.operators import OperatorId, pair_operators
from etprof.core.report import OperatorChange
from etprof.core.rows import OperatorRow

# Slower by more than this part of its own time, by at least this part of an inference, with inferences to tell from.
_LOST_OF_ITSELF, _LOST_OF_ALL, _FEWEST = 0.05, 0.005, 8


def build_operator_changes(
    baseline: Sequence[OperatorRow], candidate: Sequence[OperatorRow]
) -> tuple[OperatorChange, ...]:
    """The largest gain first, the largest loss last."""
    pairs = list(pair_operators(baseline, candidate))
    gain_ms = sum(_mean(before) - _mean(after) for before, after in pairs)
    dominant_before = {row.identity for row in find_dominant(baseline)}
    dominant_after = {row.identity for row in find_dominant(candidate)}
    changes = [
        _build_change(before, after, gain_ms, newly_dominant=_is_new(before, after, dominant_before, dominant_after))
        for before, after in pairs
    ]
    return tuple(sorted(changes, key=lambda change: -change.gain_ms))


def _is_new(
    before: OperatorRow | None, after: OperatorRow | None, was: set[OperatorId], is_now: set[OperatorId]
) -> bool:
    return after is not None and after.identity in is_now and not (before is not None and before.identity in was)


def _build_change(
    before: OperatorRow | None, after: OperatorRow | None, gain_ms: float, *, newly_dominant: bool
) -> OperatorChange:
    row = after or before
    assert row is not None  # one of them is what the pair was made from
    return OperatorChange(
        name=row.name,
        category=row.category,
        delegated=row.delegated,
        baseline_identity=before.identity if before else None,
        candidate_identity=after.identity if after else None,
        baseline_ms=before.mean_ms if before else None,
        candidate_ms=after.mean_ms if after else None,
        baseline_share=before.share if before else None,
        candidate_share=after.share if after else None,
        share_of_gain=(_mean(before) - _mean(after)) / gain_ms if gain_ms else None,
        newly_dominant=newly_dominant,
        baseline_name=before.name if before else "",
        module_path=row.module_path,
        kind=row.kind,
        work=row.work,
        is_slower=_is_slower(before, after),
    )


def _is_slower(before: OperatorRow | None, after: OperatorRow | None) -> bool:
    """Whether three of four inferences take longer than three of four did, by a part of the operator and of all."""
    if before is None or after is None or min(len(before.samples_ms), len(after.samples_ms)) < _FEWEST:
        return False
    lost_ms = after.mean_ms - before.mean_ms
    if lost_ms <= before.mean_ms * _LOST_OF_ITSELF or after.share * lost_ms / after.mean_ms < _LOST_OF_ALL:
        return False
    return quantiles(after.samples_ms, n=4)[0] > quantiles(before.samples_ms, n=4)[2]


def find_dominant(operators: Sequence[OperatorRow]) -> tuple[OperatorRow, ...]:
    """The fewest operators that together take at least half of all operators' time."""
    ranked = sorted(operators, key=lambda row: -row.share)
    half = sum(row.share for row in ranked) / 2
    dominant: list[OperatorRow] = []
    reached = 0.0
    for row in ranked:
        if reached >= half:
            break
        dominant.append(row)
        reached += row.share
    return tuple(dominant)


def _mean(row: OperatorRow | None) -> float:
    return row.mean_ms if row else 0.0
