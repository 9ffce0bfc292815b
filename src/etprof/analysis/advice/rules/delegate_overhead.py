"""Time of delegate calls that belongs to none of their operators."""

from collections.abc import Iterator

from etprof.analysis.advice.certainty import tracer_ms
from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.core.categories import DELEGATE_OVERHEAD
from etprof.core.units import format_ms


def _find(facts: Facts) -> Iterator[Match]:
    """Only where there is a call to save; what the tracer adds is no time of the model's."""
    overhead_ms = facts.overhead_ms(DELEGATE_OVERHEAD)
    if facts.variant and facts.calls > 1 and overhead_ms > tracer_ms(facts.variant):
        yield Match(
            title="Cut the delegate overhead",
            reason=f"Time outside of operators: {format_ms(overhead_ms)}.",
            extra_ms=overhead_ms,
            advice=f"Use fewer, larger partitions. Delegate calls per inference: {facts.calls}.",
        )


RULE = Rule(
    id="delegate-overhead",
    title="Delegate overhead",
    looks_at="time of delegate calls that none of their operators has, where there are several calls",
    bound="this time",
    advice="Use fewer, larger partitions.",
    snippet="""\
# What the partitioner left out, and why, is what cuts the model:
#   etprof models show MODEL.pte
#   etprof explain MODEL.pte""",
    needs_run=True,
    find=_find,
)
