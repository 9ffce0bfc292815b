"""Depthwise convolutions that take a large share of an inference."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.2


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and "depthwise" in each.row.kind)
    if found and facts.share_of(found) >= _LARGE:
        yield Match(
            title="Reduce the depthwise convolutions",
            reason=f"Depthwise convolutions have no matrix product, and therefore no kernel for SME. "
            f"{tell(facts, found)}.",
            operators=found,
        )


RULE = Rule(
    id="depthwise-share",
    title="Depthwise convolutions",
    looks_at="depthwise convolutions that take 20 % of an inference or more",
    bound="the time of these operators",
    advice="Use smaller windows, or fewer channels where the image is large. Early blocks can do without: a plain 3x3 "
    "convolution in place of the 1x1 expansion and the depthwise one runs on the matrix unit.",
    snippet="""\
# Before: a window of 49 values for each channel.
torch.nn.Conv2d(96, 96, 7, padding=3, groups=96)
# After: a window of 9.
torch.nn.Conv2d(96, 96, 3, padding=1, groups=96)""",
    find=_find,
)
