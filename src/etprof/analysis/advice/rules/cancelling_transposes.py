"""Transposes that undo each other: the graph proves which, and where."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.core.units import format_ms


def _find(facts: Facts) -> Iterator[Match]:
    """Pairs across the border of two partitions belong to the rule about these."""
    inner = [pair for pair in facts.cancelling if not pair.is_at_border]
    cancelling = {change.identity for pair in inner for change in (pair.first, pair.second)}
    found = tuple(each for each in facts.operators if each.identity in cancelling)
    if not found:
        return
    largest = max(inner, key=lambda pair: pair.saves_ms)
    places = list(dict.fromkeys(filter(None, (largest.first.module_path, largest.second.module_path))))
    where = f" ({', '.join(places)})" if places else ""
    count = len(inner)
    pairs = f"{count} pairs of transposes cancel" if count > 1 else "One pair of transposes cancels"
    which = f"{largest.first.name} and {largest.second.name}{where}"
    reason = f"{pairs} each other, shown by {largest.evidence}; the first are {which}."
    if facts.variant:
        total = format_ms(sum(each.row.mean_ms for each in found))
        each_is = "the longest are" if count > 1 else "they are"
        reason = (
            f"{pairs} each other, shown by {largest.evidence}: {total}; {each_is} {which} "
            f"with {format_ms(largest.saves_ms)}."
        )
    yield Match(title="Remove the transposes that cancel each other", reason=reason, operators=found)


RULE = Rule(
    id="cancelling-transposes",
    title="Transposes that cancel each other",
    looks_at="pairs of transposes of which the second undoes the first, with nothing or only elementwise operators "
    "between them, by permutation and data flow, within a partition",
    bound="the time of both transposes of each pair",
    advice="Keep one layout between the two, so that neither is needed; `etprof trace transposes` lists each pair.",
    snippet="""\
# Before: the layout changes and changes back around an elementwise operator.
y = torch.relu(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
# After: an elementwise operator is the same in any layout.
y = torch.relu(x)""",
    find=_find,
)
