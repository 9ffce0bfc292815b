"""A regression check as Markdown, short enough to be read in a pull request."""

from importlib import resources
from math import inf

from etprof.core.estimates import Interval
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
        .render(
            check=check,
            say=sentences,
            verdict=_describe_verdict(check),
            slowdown=_slowdown_text,
            growth=_growth_text,
            memory_rule=_describe_memory_rule(check),
            maybe=_maybe_ms,
            outputs=_outputs_text,
            outputs_rule=_describe_rule(check),
            outputs_heading="SNR against the eager model" if _has_snr(check) else "Outputs differ by",
        )
    )
    return tidy(text)


def _describe_verdict(check: RegressionCheck) -> str:
    if check.outcome is Outcome.PASS and check.memory_tolerance is not None:
        return "No variant is slower or needs more memory than allowed, and all outputs that were compared agree."
    return _VERDICTS[check.outcome]


def _slowdown_text(variant: VariantCheck) -> str:
    return _interval_text(variant.slowdown)


def _growth_text(variant: VariantCheck) -> str:
    return _interval_text(variant.memory.growth if variant.memory else None)


def _interval_text(share: Interval | None) -> str:
    if share is None:
        return "unknown"
    return f"{format_percent(share.value)} ({format_percent(share.low)} to {format_percent(share.high)})"


def _describe_memory_rule(check: RegressionCheck) -> str:
    if check.memory_tolerance is None:
        return ""
    return f"; peak memory may grow by {format_percent(check.memory_tolerance)}"


def _describe_rule(check: RegressionCheck) -> str:
    """What is expected of the outputs, as a phrase."""
    if check.output_tolerance is None:
        return "outputs are not compared"
    least = [variant.least_snr_db for variant in check.variants if variant.least_snr_db is not None]
    if least:
        return f"outputs are expected to have an SNR of at least {_decibels(max(least))} against the eager model"
    return f"outputs may differ by {check.output_tolerance:.2g} of the largest value"


def _has_snr(check: RegressionCheck) -> bool:
    return any(variant.least_snr_db is not None for variant in check.variants)


def _outputs_text(variant: VariantCheck) -> str:
    if variant.least_snr_db is not None:
        before, after = (_decibels(value) for value in variant.snr_db)
        return f"{before} to {after}"
    return "not compared" if variant.output_difference is None else f"{variant.output_difference:.2g}"


def _decibels(value: float | None) -> str:
    return "unknown" if value is None else "exact" if value == inf else f"{value:.1f} dB"


def _maybe_ms(value_ms: float | None) -> str:
    return "unknown" if value_ms is None else format_ms(value_ms)
