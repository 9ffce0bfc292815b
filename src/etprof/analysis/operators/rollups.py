"""Operators in groups: by kind of layer, by module and by shape, each with its time, its work and its rate."""

from collections.abc import Callable, Mapping, Sequence

from etprof.core.categories import COMPUTE
from etprof.core.errors import UnknownNameError
from etprof.core.report import RollupChange
from etprof.core.rows import NO_MODULE, OperatorRow, RollupRow
from etprof.core.work import rate_gmac_per_s

KIND, MODULE, SHAPE = "kind", "module", "shape"
# Names of a module's path that a group keeps: stages.0 of stages.0.blocks.1.mlp.
DEFAULT_DEPTH = 2

Rollups = Mapping[str, tuple[RollupRow, ...]]


def _name_module(row: OperatorRow, depth: int) -> str:
    return ".".join(row.module_path.split(".")[:depth]) or NO_MODULE


def _name_shape(row: OperatorRow, _depth: int) -> str:
    return f"{row.kind}: {row.work.shapes}" if row.work and row.work.shapes else row.kind


_KEYS: dict[str, Callable[[OperatorRow, int], str]] = {
    KIND: lambda row, _: row.kind,
    MODULE: _name_module,
    SHAPE: _name_shape,
}
GROUPINGS = tuple(_KEYS)


def name_group(row: OperatorRow, by: str, depth: int = DEFAULT_DEPTH) -> str:
    return _KEYS[by](row, depth)


def roll_up(rows: Sequence[OperatorRow], by: str, depth: int = DEFAULT_DEPTH) -> tuple[RollupRow, ...]:
    """The groups with the longest time first. `depth` is for modules: how many names of their path count."""
    if by not in _KEYS:
        raise UnknownNameError("grouping of operators", by, GROUPINGS, hint=f"Known: {', '.join(GROUPINGS)}.")
    groups: dict[str, list[OperatorRow]] = {}
    for row in rows:
        groups.setdefault(name_group(row, by, depth), []).append(row)
    return tuple(sorted((_build_row(name, own) for name, own in groups.items()), key=lambda row: -row.mean_ms))


def build_rollups(rows: Sequence[OperatorRow]) -> Rollups:
    """Every grouping; by module and shape only where the model's graph told them."""
    has_work = any(row.work for row in rows)
    known = {KIND: True, MODULE: has_work or any(row.module_path for row in rows), SHAPE: has_work}
    return {by: roll_up(rows, by) for by in GROUPINGS if known[by]} if rows else {}


def compare_rollups(baseline: Rollups, candidate: Rollups) -> dict[str, tuple[RollupChange, ...]]:
    return {by: compare_groups(baseline[by], candidate[by]) for by in baseline if by in candidate}


def compare_groups(baseline: Sequence[RollupRow], candidate: Sequence[RollupRow]) -> tuple[RollupChange, ...]:
    """Groups of the same name before and after; those with the longest time now come first."""
    before, after = ({row.name: row for row in rows} for rows in (baseline, candidate))
    changes = [RollupChange(name, before.get(name), after.get(name)) for name in {**after, **before}]
    return tuple(sorted(changes, key=lambda change: -(change.candidate.mean_ms if change.candidate else 0.0)))


def _build_row(name: str, rows: Sequence[OperatorRow]) -> RollupRow:
    mean_ms = sum(row.mean_ms for row in rows)
    counts = [row.work.macs if row.work else None if row.category in COMPUTE else 0 for row in rows]
    known = [count for count in counts if count is not None]
    macs = sum(known) if len(known) == len(counts) else None
    return RollupRow(
        name=name,
        count=len(rows),
        mean_ms=mean_ms,
        share=sum(row.share for row in rows),
        macs=macs,
        gmac_per_s=rate_gmac_per_s(macs, mean_ms),
    )
