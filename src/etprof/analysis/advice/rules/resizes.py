"""Resizes in the delegate."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.03


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and each.row.kind == "resize")
    if found and facts.share_of(found) >= _LARGE:
        yield Match(title="Resize less", reason=f"{tell(facts, found)}.", operators=found)


RULE = Rule(
    id="resizes",
    title="Resizes",
    looks_at="bilinear resizes in the delegate that take 3 % of an inference or more",
    bound="the time of these operators",
    advice="Resize fewer values: after a sum rather than before it, and never twice what could be resized once.",
    snippet="""\
# Before: two tensors are resized, then added.
y = resize(self.first(x)) + resize(self.second(x))
# After: they are added, then one is resized.
y = resize(self.first(x) + self.second(x))""",
    find=_find,
)
