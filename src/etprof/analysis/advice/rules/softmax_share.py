"""Softmax that takes a large share of an inference."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell

_LARGE = 0.05


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.operators if each.row.delegated and each.row.kind == "softmax")
    if found and facts.share_of(found) >= _LARGE:
        yield Match(title="Compute less softmax", reason=f"{tell(facts, found)}.", operators=found)


RULE = Rule(
    id="softmax-share",
    title="Softmax",
    looks_at="softmax operators in the delegate that take 5 % of an inference or more",
    bound="the time of these operators",
    advice="Attention costs tokens times tokens: use windows or fewer keys. A softmax at the end of a classifier can "
    "be left out where only the largest value is wanted.",
    snippet="""\
# Before: every token attends to all 1,024 keys.
weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
# After: keys and values are pooled by four first.
k, v = pool(k), pool(v)
weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)""",
    find=_find,
)
