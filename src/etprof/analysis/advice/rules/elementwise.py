"""Elementwise operators that no other rule is about."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.categories import ELEMENTWISE


def _find(facts: Facts) -> Iterator[Match]:
    every = [each for each in facts.operators if each.row.delegated and each.row.category == ELEMENTWISE]
    found = tuple(each for each in every if each.identity not in facts.claimed)
    if found:
        others = "the other " if len(found) < len(every) else ""
        yield Match(title=f"Reduce {others}elementwise operators", reason=f"{tell(facts, found)}.", operators=found)


RULE = Rule(
    id="elementwise",
    title="Elementwise operators",
    looks_at="elementwise operators in the delegate that are neither costly activations nor part of a chain",
    bound="the time of these operators",
    advice="Use activations that fuse into the operator before them, such as ReLU, instead of those that cannot.",
    snippet="""\
# Before: a scale after a convolution is an operator of its own.
y = self.convolution(x) * self.scale.view(1, -1, 1, 1)
# After: it is part of the weights.
convolution.weight.data *= scale.view(-1, 1, 1, 1)
convolution.bias.data *= scale""",
    level=Level.GENERAL,
    find=_find,
)
