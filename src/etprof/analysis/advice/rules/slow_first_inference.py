"""A first inference that takes much longer than the others."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.core.advice import SavedFrom
from etprof.core.units import format_ms, format_ratio

_SLOW = 2.0


def _find(facts: Facts) -> Iterator[Match]:
    latency = facts.variant.latency if facts.variant else None
    if latency and latency.cold_ms and latency.cold_ms > _SLOW * latency.median_ms:
        yield Match(
            title="Warm up the model when the application starts",
            reason=f"The first inference took {format_ms(latency.cold_ms)}, "
            f"{format_ratio(latency.cold_ms / latency.median_ms)} the steady {format_ms(latency.median_ms)}.",
            extra_ms=latency.cold_ms - latency.median_ms,
            whole_ms=latency.cold_ms,
            saved_from=SavedFrom.FIRST_INFERENCE,
        )


RULE = Rule(
    id="slow-first-inference",
    title="A first inference far above the steady ones",
    looks_at="the first inference after loading, if it takes more than twice the median",
    bound="the difference between the first inference and the median, once",
    advice="The first inference is what users notice: run one with any input after loading, before it is needed.",
    snippet="""\
Module module("model.pte");
module.load_forward();
module.forward(any_input);  // while the application starts""",
    needs_run=True,
    find=_find,
)
