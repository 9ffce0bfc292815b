"""One operator outside of the delegate that cuts the model into partitions in several places."""

from collections import Counter
from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Level, Match, Rule
from etprof.analysis.advice.undelegated import (
    find_rewrites,
    measure_around_ms,
    operator_of,
    tell_reason,
    tell_undelegated,
)

_SEVERAL = 2


def _find(facts: Facts) -> Iterator[Match]:
    cuts = _count_cuts(facts)
    own = [each for each in facts.unclaimed if not each.row.delegated]
    cutting = {operator_of(each.row.name) for each in own}
    name, count = next(((n, c) for n, c in cuts.most_common() if n in cutting and c >= _SEVERAL), ("", 0))
    found = tuple(each for each in own if operator_of(each.row.name) == name)
    if not found:
        return
    # Without a trace the order is not known: the operator that is left out most often is taken for what cuts.
    verb = "cuts" if facts.variant else "may cut"
    yield Match(
        title=f"Replace {name}, which cuts the model into partitions",
        reason=f"The model runs as {facts.calls} partitions: {name} is not delegated and {verb} it in {count} of "
        f"{facts.calls - 1} places. {tell_undelegated(facts, found)}.{tell_reason(facts, name)}",
        operators=found,
        extra_ms=measure_around_ms(facts),
        advice=find_rewrites(facts, found),
    )


def _count_cuts(facts: Facts) -> Counter[str]:
    places = max(facts.calls - 1, 0)
    if facts.variant:
        between = facts.background.between
        return Counter(name for call in range(places) for name in {operator_of(n) for n in between.get(call, ())})
    left = Counter(operator_of(each.row.name) for each in facts.operators if not each.row.delegated)
    return Counter({name: min(count, places) for name, count in left.items()})


RULE = Rule(
    id="cut-partitions",
    title="Partitions cut by one operator",
    looks_at="operators outside of the delegate that run between delegate calls, by name, in two places or more",
    bound="the time of these operators, of calls through the runtime and the delegate, and of data movement with which "
    "delegate calls begin and end",
    advice="Replace it with operators that XNNPACK takes in this precision: each cut costs a delegate call and often "
    "two layout changes.",
    snippet="""\
# Before: ELU has no rule in XNNPACK's partitioner and cuts the model wherever it stands.
y = torch.nn.functional.elu(x)
# After: the same function from operators that it takes.
y = torch.relu(x) + torch.exp(torch.clamp(x, max=0.0)) - 1.0""",
    level=Level.BROAD,
    find=_find,
)
