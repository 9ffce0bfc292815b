"""A regression check as Markdown, short enough to be read in a pull request."""

from importlib import resources

from etprof.core.regression import Outcome, RegressionCheck, VariantCheck
from etprof.core.units import format_ms, format_percent
from etprof.reports import sentences
from etprof.reports.markdown import build_environment, tidy

_VERDICTS = {
    Outcome.PASS: "No variant is slower than the tolerance allows, and all outputs that were compared agree.",
    Outcome.FAIL: "This run is worse than the known-good one.",
    Outcome.INCONCLUSIVE: "Nothing is shown to be worse, but not everything is shown to be as good.",
}


def render(check: RegressionCheck) -> str:
    template = (resources.files("etprof.reports") / "templates" / "check.md.j2").read_text(encoding="utf-8")
    text = (
        build_environment()
        .from_string(template)
        .render(check=check, say=sentences, verdict=_VERDICTS[check.outcome], slowdown=_slowdown_text, maybe=_maybe_ms)
    )
    return tidy(text)


def _slowdown_text(variant: VariantCheck) -> str:
    if variant.slowdown is None:
        return "unknown"
    low, high = format_percent(variant.slowdown.low), format_percent(variant.slowdown.high)
    return f"{format_percent(variant.slowdown.value)} ({low} to {high})"


def _maybe_ms(value_ms: float | None) -> str:
    return "unknown" if value_ms is None else format_ms(value_ms)
