"""A model that is so small that calling it takes a large part of the time."""

from collections.abc import Iterator

from etprof.analysis.advice.certainty import tracer_ms
from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.core.categories import OVERHEADS
from etprof.core.units import format_ms, format_percent

_LARGE = 0.25


def _find(facts: Facts) -> Iterator[Match]:
    """Where the model is in several pieces there are other rules: then fewer pieces are what helps."""
    if facts.variant is None or facts.calls != 1 or not all(each.row.delegated for each in facts.operators):
        return
    overhead_ms = sum(map(facts.overhead_ms, OVERHEADS)) - tracer_ms(facts.variant)
    if facts.whole_ms and overhead_ms / facts.whole_ms >= _LARGE:
        yield Match(
            title="Do more in one inference",
            reason=f"The model runs in one piece, and {format_ms(overhead_ms)} "
            f"({format_percent(overhead_ms / facts.whole_ms)}) of each inference is spent outside of its operators.",
            extra_ms=overhead_ms,
        )


RULE = Rule(
    id="small-model",
    title="A model too small for its overhead",
    looks_at="time outside of operators, if it is 25 % or more of an inference of a model in one piece",
    bound="the time outside of operators, without what the tracer adds",
    advice="Process several inputs in one inference, and use one thread: waking the others may take longer than the "
    "work.",
    snippet="""\
# Before: one frame in an inference.
torch.export.export(model, (torch.randn(1, 40),))
# After: sixteen.
torch.export.export(model, (torch.randn(16, 40),))""",
    needs_run=True,
    find=_find,
)
