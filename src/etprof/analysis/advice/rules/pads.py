"""Pads that are operators of their own."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.02


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and each.row.kind == "pad")
    if found and facts.share_of(found) >= _LARGE:
        yield Match(title="Pad inside of the convolutions", reason=f"{tell(facts, found)}.", operators=found)


RULE = Rule(
    id="pads",
    title="Pads",
    looks_at="constant pads in the delegate that take 2 % of an inference or more",
    bound="the time of these operators",
    advice="Give the padding to the convolution or pooling that follows, which pads without a copy.",
    snippet="""\
# Before: the whole tensor is copied into a larger one.
y = torch.nn.Conv2d(32, 32, 3)(torch.nn.functional.pad(x, (1, 1, 1, 1)))
# After: the convolution reads zeros at its border.
y = torch.nn.Conv2d(32, 32, 3, padding=1)(x)""",
    find=_find,
)
