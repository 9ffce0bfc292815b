"""Layout changes where one partition ends and the next begins."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.analysis.advice.wording import tell
from etprof.core.units import format_count


def _find(facts: Facts) -> Iterator[Match]:
    """Those at the input and the output of the model are no border between partitions."""
    last = facts.calls - 1
    inner = {f"entry of delegate call {call}" for call in range(1, last + 1)}
    inner |= {f"exit from delegate call {call}" for call in range(last)}
    at_borders = {change.identity for change in facts.layout_changes if change.cause in inner}
    at_borders |= {c.identity for pair in facts.cancelling if pair.is_at_border for c in (pair.first, pair.second)}
    found = tuple(each for each in facts.operators if each.identity in at_borders)
    if found:
        yield Match(
            title="Avoid the layout changes between partitions",
            reason=f"The model runs as {format_count(facts.calls, 'partition')}, and data changes its layout where one "
            f"ends or begins. {tell(facts, found)}.",
            operators=found,
        )


RULE = Rule(
    id="border-layout-changes",
    title="Layout changes at the borders of partitions",
    looks_at="transposes with which a delegate call begins or ends, other than at the input and output of the model",
    bound="the time of these transposes",
    advice="XNNPACK computes channels-last and the runtime's own kernels do not: delegate the operator between the "
    "partitions, or move it to the beginning or the end of the model.",
    snippet="""\
# Before: flip has no rule in XNNPACK's partitioner and stands between two convolutions.
y = self.second(torch.flip(self.first(x), dims=[3]))
# After: it runs before the first partition, and no border is left between the convolutions.
y = self.second(self.first_flipped(torch.flip(x, dims=[3])))""",
    find=_find,
)
