"""Copies, slices, reshapes and conversions that no other rule is about."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.categories import DATA_MOVEMENT


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(
        each
        for each in facts.unclaimed
        if each.row.delegated and each.row.category == DATA_MOVEMENT and each.row.subcategory != "transpose"
    )
    if found:
        yield Match(title="Move less data", reason=f"{tell(facts, found)}.", operators=found)


RULE = Rule(
    id="data-movement",
    title="Data movement",
    looks_at="copies, slices, reshapes and conversions in the delegate that no other rule is about",
    bound="the time of these operators",
    advice="Remove copies, pads, slices and conversions that the model does not need, or do them once.",
    snippet="""\
# Before: the same half of the tokens is copied out of the tensor twice.
y = self.first(x[:, :98]) + self.second(x[:, :98])
# After: once.
half = x[:, :98]
y = self.first(half) + self.second(half)""",
    level=Level.GENERAL,
    find=_find,
)
