"""Concatenations, which copy every operand."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.02


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and each.row.kind == "concat")
    if found and facts.share_of(found) >= _LARGE:
        yield Match(
            title="Avoid the copies of concatenations",
            reason=f"XNNPACK copies each operand of a concatenation. {tell(facts, found)}.",
            operators=found,
        )


RULE = Rule(
    id="concatenation-copies",
    title="Concatenations",
    looks_at="the copies of concatenations in the delegate, if they take 2 % of an inference or more",
    bound="the time of these copies",
    advice="A 1x1 convolution or linear layer over a concatenation is the sum of one over each operand.",
    snippet="""\
# Before: both operands are copied, then multiplied.
y = self.project(torch.cat([a, b], dim=1))
# After: the weights are split instead.
y = self.project_a(a) + self.project_b(b)""",
    find=_find,
)
