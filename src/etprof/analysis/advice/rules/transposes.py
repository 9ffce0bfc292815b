"""Transposes that no other rule is about."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.wording import tell


def _find(facts: Facts) -> Iterator[Match]:
    every = [each for each in facts.operators if each.row.delegated and each.row.subcategory == "transpose"]
    found = tuple(each for each in every if each.identity not in facts.claimed)
    if found:
        title = "Remove the other transposes" if len(found) < len(every) else "Remove transposes"
        yield Match(title=title, reason=f"{tell(facts, found)}.", operators=found)


RULE = Rule(
    id="transposes",
    title="Transposes",
    looks_at="transposes in the delegate that neither cancel each other nor stand between partitions",
    bound="the time of these transposes",
    advice="Keep one memory layout through the model: channels-last inputs, and no operator that forces a change.",
    snippet="""\
# Before: height and width of the image change places, and back.
y = self.convolution(x.transpose(2, 3)).transpose(2, 3)
# After: those of the weights do, once.
convolution.weight.data = convolution.weight.data.transpose(2, 3).contiguous()
y = self.convolution(x)""",
    level=Level.GENERAL,
    find=_find,
)
