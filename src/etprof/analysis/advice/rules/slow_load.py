"""A model that takes much longer to load than to run."""

from collections.abc import Iterator

from etprof.analysis.advice.facts import Facts
from etprof.analysis.advice.rule import Match, Rule
from etprof.core.advice import SavedFrom
from etprof.core.units import format_ms, format_ratio

_SLOW = 10.0
# Nobody waits for less.
_NOTICED_MS = 20.0


def _find(facts: Facts) -> Iterator[Match]:
    latency = facts.variant.latency if facts.variant else None
    if latency and latency.load_ms and latency.load_ms > max(_SLOW * latency.median_ms, _NOTICED_MS):
        yield Match(
            title="Load the model once, and early",
            reason=f"Loading took {format_ms(latency.load_ms)}, {format_ratio(latency.load_ms / latency.median_ms)} an "
            f"inference of {format_ms(latency.median_ms)}.",
            extra_ms=latency.load_ms,
            whole_ms=latency.load_ms,
            saved_from=SavedFrom.LOAD,
        )


RULE = Rule(
    id="slow-load",
    title="A load time far above an inference",
    looks_at="the time to load program and method, if it is more than ten inferences and more than 20 ms",
    bound="the time to load, for each time that the model need not be loaded",
    advice="XNNPACK packs the weights while the model is loaded: keep the loaded module, map the file instead of "
    "reading it, and load it in the background when the application starts.",
    snippet="""\
// Kept for as long as the application runs, mapped instead of copied.
static Module module("model.pte", Module::LoadMode::Mmap);
module.load_forward();""",
    needs_run=True,
    find=_find,
)
