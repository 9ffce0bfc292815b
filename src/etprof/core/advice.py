"""Advice as data: what a rule says of itself, and what it found in a model that was not run."""

from dataclasses import dataclass
from enum import Enum


class SavedFrom(Enum):
    """What the time of a next step is a part of."""

    INFERENCE = "inference"
    FIRST_INFERENCE = "first inference"
    LOAD = "load time"


@dataclass(frozen=True, kw_only=True)
class RuleText:
    """A rule of advice for its readers: what it looks at, what bounds the gain, what to do, and how that is written.

    `needs_run` marks one that a model alone does not show, `about_sme` one that is about the kernels of CPUs with SME.
    """

    id: str
    title: str
    looks_at: str
    bound: str
    advice: str
    snippet: str
    needs_run: bool = False
    about_sme: bool = False


@dataclass(frozen=True)
class ModelStep:
    """What a rule found in a model without a run. `share` is that of `measure` (multiply-accumulates or bytes moved).

    It is None where the graph does not tell.
    """

    rule: str
    title: str
    share: float | None
    measure: str
    reason: str
    advice: str
