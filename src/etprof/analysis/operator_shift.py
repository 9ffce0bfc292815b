"""Baseline against candidate, operator by operator: what each gained, what now dominates, what is left to gain."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from etprof.analysis.identities import group_by_call
from etprof.core.report import CategoryRow, OperatorRow

_KIND_OF_OPERATOR = re.compile(r" (?:\(|#).*$")


@dataclass(frozen=True)
class OperatorShift:
    """One operator in both arms, per inference; None on the side that does not have it."""

    baseline: OperatorRow | None
    candidate: OperatorRow | None
    share_of_gain: float | None
    newly_dominant: bool

    @property
    def row(self) -> OperatorRow:
        """The operator in the candidate, or in the baseline where the candidate has none."""
        row = self.candidate or self.baseline
        assert row is not None  # one of them is what the pair was made from
        return row

    @property
    def gain_ms(self) -> float:
        return _mean(self.baseline) - _mean(self.candidate)

    @property
    def speedup(self) -> float | None:
        if not self.baseline or not self.candidate or self.candidate.mean_ms <= 0:
            return None
        return self.baseline.mean_ms / self.candidate.mean_ms


@dataclass(frozen=True)
class Ceiling:
    """Amdahl's bound: how much faster one inference would be if this part of it took no time at all."""

    part: str
    part_ms: float
    speedup: float | None


def build_operator_shifts(
    baseline: Sequence[OperatorRow], candidate: Sequence[OperatorRow]
) -> tuple[OperatorShift, ...]:
    """The largest gain first, the largest loss last.

    Operators are paired by delegate call and order. Where the arms ran different operators (packing is an operator of
    its own on one of them) the sequences are aligned by kind of operator, and what has no partner stands alone.
    """
    pairs = list(_pair_up(baseline, candidate))
    gain_ms = sum(_mean(before) - _mean(after) for before, after in pairs)
    dominant_before = {row.identity for row in find_dominant(baseline)}
    dominant_after = {row.identity for row in find_dominant(candidate)}
    shifts = [
        OperatorShift(
            baseline=before,
            candidate=after,
            share_of_gain=(_mean(before) - _mean(after)) / gain_ms if gain_ms else None,
            newly_dominant=bool(
                after and after.identity in dominant_after and not (before and before.identity in dominant_before)
            ),
        )
        for before, after in pairs
    ]
    return tuple(sorted(shifts, key=lambda shift: -shift.gain_ms))


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


def build_ceilings(categories: Iterable[CategoryRow], operators: Iterable[OperatorRow]) -> tuple[Ceiling, ...]:
    """One for each category and overhead, then one for each operator, in the order given."""
    parts = [(row.name, row.mean_ms, row.share) for row in categories]
    parts += [(f"{row.name} [{row.identity}]", row.mean_ms, row.share) for row in operators]
    return tuple(Ceiling(part, ms, 1 / (1 - share) if share < 1 else None) for part, ms, share in parts)


def _mean(row: OperatorRow | None) -> float:
    return row.mean_ms if row else 0.0


def _pair_up(
    baseline: Sequence[OperatorRow], candidate: Sequence[OperatorRow]
) -> Iterator[tuple[OperatorRow | None, OperatorRow | None]]:
    before, after = group_by_call(baseline), group_by_call(candidate)
    for call in sorted(before.keys() | after.keys()):
        yield from _align(before.get(call, []), after.get(call, []))


def _align(
    before: list[OperatorRow], after: list[OperatorRow]
) -> Iterator[tuple[OperatorRow | None, OperatorRow | None]]:
    kinds_before, kinds_after = ([_KIND_OF_OPERATOR.sub("", row.name) for row in rows] for rows in (before, after))
    matcher = SequenceMatcher(None, kinds_before, kinds_after, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            yield from zip(before[i:i_end], after[j:j_end], strict=True)
        else:
            yield from ((row, None) for row in before[i:i_end])
            yield from ((None, row) for row in after[j:j_end])
