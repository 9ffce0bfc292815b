"""A forecast in words and tables, the same in every format: what is expected, what bounds it, how far to trust it."""

from etprof.core.estimates import Interval
from etprof.core.forecast import Forecast, ForecastRow
from etprof.core.units import format_count, format_ms, format_percent, format_ratio
from etprof.reports.text_table import Column, TextTable, render_table, wrap

_UNCHECKED = "No forecast has been checked on SME2 silicon yet."
_HEADINGS = ("measured here", "expected there", "interval", "ratio from")


def list_sentences(forecast: Forecast) -> list[str]:
    """What is expected, what bounds it, what dominates then, what is missing, and how far to trust it."""
    said = (
        expected_sentence(forecast),
        extension_sentence(forecast),
        ceiling_sentence(forecast),
        floor_sentence(forecast),
        dominant_sentence(forecast),
        *forecast.missing,
        trust_sentence(forecast),
    )
    return [sentence for sentence in said if sentence]


def expected_sentence(forecast: Forecast) -> str:
    if forecast.expected_ms is None or forecast.speedup is None or forecast.measured_ms is None:
        return ""
    return (
        f"Forecast for {forecast.target.label}: an inference is expected to take {_times(forecast.expected_ms)}, "
        f"{_ratios(forecast.speedup)} as fast as the {format_ms(forecast.measured_ms)} that {forecast.variant.label} "
        f"took on {forecast.source.label}."
    )


def extension_sentence(forecast: Forecast) -> str:
    if forecast.extension_speedup is None:
        return ""
    return f"{forecast.extension} alone is expected to bring {_ratios(forecast.extension_speedup)} there."


def ceiling_sentence(forecast: Forecast) -> str:
    """The bound of Amdahl's law, which no profile is needed for."""
    if forecast.untouched_share is None or not forecast.extension:
        return ""
    untouched = f"{forecast.extension} cannot touch {format_percent(forecast.untouched_share)} of the time here"
    if forecast.ceiling_speedup is None:
        return f"{untouched}."
    return (
        f"{untouched}: were everything else free and this part unchanged, the inference would be "
        f"{format_ratio(forecast.ceiling_speedup)} as fast."
    )


def floor_sentence(forecast: Forecast) -> str:
    if forecast.floor_ms is None:
        return ""
    return f"By the peaks of that CPU it cannot take less than {format_ms(forecast.floor_ms)} with these operators."


def dominant_sentence(forecast: Forecast) -> str:
    if not forecast.shares:
        return ""
    first = forecast.shares[0]
    whole = sum(part.measured_ms for part in forecast.shares)
    return (
        f"What would dominate then: {first.name}, {format_percent(first.share, 0)} of the expected time "
        f"({format_percent(first.measured_ms / whole, 0)} here)."
    )


def trust_sentence(forecast: Forecast) -> str:
    known = forecast.validation
    if known is None:
        return _UNCHECKED
    return (
        f"Nothing here is measured but the times of this run. Of {format_count(known.forecasts, 'forecast')} from one "
        f"extension of an x86-64 CPU to another ({known.models} models and precisions), the median error of the "
        f"latency was {format_percent(known.median_error)}, the largest {format_percent(known.largest_error)}; "
        f"{format_percent(known.within_10, 0)} were within 10 %, and {format_percent(known.inside, 0)} inside the "
        f"interval. The method was made on another CPU, and not changed for these. {_UNCHECKED}"
    )


def list_deciding(forecast: Forecast) -> list[tuple[ForecastRow, tuple[str, ...]]]:
    """The operators that decide it, each with its cells below `headings`."""
    return [(row, _list_cells(row)) for row in forecast.deciding]


def headings() -> tuple[str, ...]:
    return _HEADINGS


def render_text(forecast: Forecast, width: int | None) -> str:
    """For a terminal: the sentences, then the operators that decide it."""
    parts = [f"{wrap(sentence, width)}\n" for sentence in list_sentences(forecast)]
    if forecast.rows:
        parts.insert(-1, render_table(_build_table(forecast), width))
        parts.insert(-1, render_table(_build_shares(forecast), width))
    return "\n".join(parts)


def _build_table(forecast: Forecast) -> TextTable:
    found = list_deciding(forecast)
    columns = [
        Column("operator", [row.name for row, _ in found]),
        Column("id", [str(row.identity) for row, _ in found], 2),
        Column("module", [row.module_path for row, _ in found], 4),
    ]
    for at, (heading, importance) in enumerate(zip(_HEADINGS, (0, 0, 1, 3), strict=True)):
        columns.append(Column(heading, [cells[at] for _, cells in found], importance, right=at < 3))
    return TextTable("The operators that decide the forecast", columns)


def _build_shares(forecast: Forecast) -> TextTable:
    parts = forecast.shares
    return TextTable(
        "Where the time goes, traced",
        [
            Column("category", [part.name for part in parts]),
            Column("measured here", [format_ms(part.measured_ms) for part in parts], right=True),
            Column("expected there", [format_ms(part.expected_ms) for part in parts], right=True),
            Column("share", [format_percent(part.share) for part in parts], 1, right=True),
        ],
    )


def _list_cells(row: ForecastRow) -> tuple[str, ...]:
    interval = f"{format_ms(row.low_ms)} to {format_ms(row.high_ms)}"
    return format_ms(row.measured_ms), format_ms(row.expected_ms), interval, row.basis


def _times(interval: Interval) -> str:
    bounds = f"{format_ms(interval.low)} to {format_ms(interval.high)}"
    return f"{format_ms(interval.value)} ({format_percent(interval.confidence, 0)} interval {bounds})"


def _ratios(interval: Interval) -> str:
    return f"{format_ratio(interval.value)} ({format_ratio(interval.low)} to {format_ratio(interval.high)})"
