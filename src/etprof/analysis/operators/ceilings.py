"""Amdahl's bound: what a part of an inference could gain at most."""

from collections.abc import Iterable
from dataclasses import dataclass

from etprof.core.rows import CategoryRow, OperatorRow


@dataclass(frozen=True)
class Ceiling:
    """Amdahl's bound: how much faster one inference would be if this part of it took no time at all."""

    part: str
    part_ms: float
    speedup: float | None


def build_ceilings(categories: Iterable[CategoryRow], operators: Iterable[OperatorRow]) -> tuple[Ceiling, ...]:
    """One for each category and overhead, then one for each operator, in the order given."""
    parts = [(row.name, row.mean_ms, row.share) for row in categories]
    parts += [(f"{row.name} [{row.identity}]", row.mean_ms, row.share) for row in operators]
    return tuple(Ceiling(part, ms, 1 / (1 - share) if share < 1 else None) for part, ms, share in parts)
