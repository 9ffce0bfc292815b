"""A rule of advice: what it says of itself, how it finds where it applies, and what it found there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from etprof.analysis.advice.facts import Facts, Operator
from etprof.core.advice import RuleText, SavedFrom


class Level(IntEnum):
    """Rules of a higher level leave to those below what they found: an operator is not the subject of two of them."""

    SPECIFIC = 0
    BROAD = 1
    GENERAL = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Match:
    """Where a rule applies. What it saves is at most `part` of the time of its operators, and `extra_ms` beside them.

    `whole_ms` is what the saving is a part of where that is no inference; `advice` is the rule's own where it is empty.
    """

    title: str
    reason: str
    operators: tuple[Operator, ...] = ()
    part: float = 1.0
    extra_ms: float = 0.0
    whole_ms: float | None = None
    advice: str = ""
    is_bound: bool = True
    saved_from: SavedFrom = SavedFrom.INFERENCE


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(RuleText):
    find: Callable[[Facts], Iterator[Match]]
    level: Level = Level.SPECIFIC
