"""The other operators outside of the delegate."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.undelegated import find_rewrites, measure_around_ms, tell_undelegated


def _find(facts: Facts) -> Iterator[Match]:
    found = tuple(each for each in facts.unclaimed if not each.row.delegated)
    if not found:
        return
    others = "other " if any(not each.row.delegated for each in facts.operators if each not in found) else ""
    plural, them = ("s", "them") if len(found) > 1 else ("", "it")
    yield Match(
        title=f"Delegate the {others}portable operator{plural}",
        reason=f"{tell_undelegated(facts, found)}.",
        operators=found,
        extra_ms=measure_around_ms(facts),
        advice=find_rewrites(facts, found)
        or f"Replace {them} with what XNNPACK supports, or pad and reshape so that its partitioner accepts {them}.",
    )


RULE = Rule(
    id="portable-operators",
    title="Operators outside of the delegate",
    looks_at="every operator outside of the delegate that no rule above is about",
    bound="the time of these operators, of calls through the runtime and the delegate, and of data movement with which "
    "delegate calls begin and end",
    advice="Replace them with what XNNPACK supports, or pad and reshape so that its partitioner accepts them.",
    snippet="""\
# Before: a nearest-neighbour resize is not delegated.
y = torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest")
# After: a bilinear one is.
y = torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)""",
    level=Level.GENERAL,
    find=_find,
)
