"""Time of the runtime between operators."""

from collections.abc import Iterator

from etprof.analysis.advice.certainty import tracer_ms
from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.core.categories import FRAMEWORK_OVERHEAD
from etprof.core.units import format_ms


def _find(facts: Facts) -> Iterator[Match]:
    """Only where there is a call to save; what the tracer adds is no time of the model's."""
    overhead_ms = facts.overhead_ms(FRAMEWORK_OVERHEAD)
    portable = any(not each.row.delegated for each in facts.operators)
    if facts.variant and portable and overhead_ms > tracer_ms(facts.variant):
        yield Match(
            title="Cut the framework overhead",
            reason=f"Time outside of operators: {format_ms(overhead_ms)}.",
            extra_ms=overhead_ms,
        )


RULE = Rule(
    id="framework-overhead",
    title="Framework overhead",
    looks_at="time between operators, where some of them are outside of the delegate",
    bound="this time",
    advice="Use fewer operators outside the delegate: each costs a call through the runtime.",
    snippet="""\
# Before: a sum over the last dimension is not delegated.
y = x.sum(-1, keepdim=True)
# After: a linear layer with weights of one is.
y = torch.nn.functional.linear(x, torch.ones(1, x.shape[-1]))""",
    needs_run=True,
    find=_find,
)
