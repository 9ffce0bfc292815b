"""The choice between builds in words and tables, the same in every format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etprof.core.estimates import Interval, Verdict
from etprof.core.exploration import EXACT_DB, Choice, ChoiceRow, LayerRow, Standing, Tie
from etprof.core.units import (
    format_bytes,
    format_count,
    format_ms,
    format_percent,
    format_ratio,
    format_seconds,
)
from etprof.reports.text_table import Column, TextTable

RANDOM_WEIGHTS = (
    "The weights are random: the SNR says how exactly a build computes (its numerics), not how accurate the model is. "
    "No precision is recommended for its accuracy."
)
_MOST_LAYERS = 15
# Columns that a narrow terminal leaves out first have the largest numbers.
_WORDS = ("build", "layer", "standing")
_IMPORTANCE = {"blocks": 6, "SME2 (predicted)": 4, "load": 3, "peak memory": 1, "file": 1, "interval": 2}


@dataclass(frozen=True)
class ChoiceTable:
    """`left_out` rows are not shown."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


def answer_sentence(choice: Choice) -> str:
    """The fastest within the floors, the smallest, and which differences are noise, in one sentence."""
    if not choice.front:
        return "No build was measured, so there is nothing to choose from."
    floors = _floors(choice)
    if choice.fastest is None or choice.smallest is None:
        best = max(choice.front, key=lambda row: find_accuracy(choice, row) or 0.0)
        return f"No build reaches{floors}; the closest is {best.label}: {accuracy_text(choice, best)}."
    fastest, smallest = choice.of(choice.fastest), choice.of(choice.smallest)
    within = f" with{floors}" if floors else ""
    parts = [f"fastest{within}: {fastest.label}, {_latency(fastest)}, {accuracy_text(choice, fastest)}"]
    if fastest.file_bytes == smallest.file_bytes:
        parts[0] = f"fastest and smallest{within}: {fastest.label}, {_latency(fastest)}, " + ", ".join(
            (accuracy_text(choice, fastest), _bytes(fastest.file_bytes))
        )
    else:
        parts.append(f"smallest: {smallest.label}, {_bytes(smallest.file_bytes)}, {_latency(smallest)}")
    noise = [_pair(tie) for tie in choice.ties if tie.verdict is Verdict.NO_DIFFERENCE]
    if noise:
        parts.append(f"differences that are noise: {', '.join(noise)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def list_answers(choice: Choice) -> Iterator[str]:
    """The answer, what is left open and what would decide it, and what the numbers rest on."""
    yield answer_sentence(choice)
    if choice.undecided:
        yield _open_sentence(choice)
    if choice.has_random_weights:
        yield RANDOM_WEIGHTS
    yield _basis_sentence(choice)


def list_reasons(choice: Choice) -> list[str]:
    """Why each build that is not in the front is not."""
    return [f"{row.label}: {row.standing}, {row.reason.rstrip('.')}." for row in choice.rows if row.reason]


def build_table(choice: Choice) -> ChoiceTable:
    share = f"{choice.extension} executed" if choice.extension else "extension executed"
    columns = {
        "build": [row.experiment for row in choice.rows],
        "threads": [str(row.threads) if row.threads is not None else "" for row in choice.rows],
        "latency": [format_ms(row.latency_ms) if row.latency_ms is not None else "" for row in choice.rows],
        "interval": [_milliseconds(row.latency) for row in choice.rows],
        _accuracy_heading(choice): [accuracy_text(choice, row, plain=True) for row in choice.rows],
        "SNR": [_snr(row) for row in choice.rows] if choice.eager_metric is not None else [],
        "file": [_bytes(row.file_bytes) for row in choice.rows],
        "peak memory": [_bytes(row.peak_bytes) for row in choice.rows],
        "load": [format_ms(row.load_ms) if row.load_ms is not None else "" for row in choice.rows],
        share: [_share(row) for row in choice.rows],
        "SME2 (predicted)": [_percent(row.sme2_predicted) for row in choice.rows],
        "blocks": [str(row.blocks) if row.blocks else "" for row in choice.rows],
        "standing": [_standing(choice, row) for row in choice.rows],
    }
    shown = {heading: cells for heading, cells in columns.items() if any(cells)}
    return ChoiceTable("Builds", tuple(shown), tuple(zip(*shown.values(), strict=True)))


def build_layer_table(choice: Choice, most: int | None = _MOST_LAYERS) -> ChoiceTable:
    rows = choice.layers[:most]
    title = f"Layers where each alone is quantised ({choice.layers_scheme}), the costliest first"
    if choice.layers_threads is not None:
        title += f"; times at {format_count(choice.layers_threads, 'thread')}"
    return ChoiceTable(
        title,
        ("layer", "SNR", "share of the noise", "time in fp32", "time quantised", "gain"),
        tuple(_layer_cells(row) for row in rows),
        len(choice.layers) - len(rows),
    )


def as_text_table(table: ChoiceTable) -> TextTable:
    columns = [
        Column(heading, [row[place] for row in table.rows], _IMPORTANCE.get(heading, 0), right=heading not in _WORDS)
        for place, heading in enumerate(table.headings)
    ]
    return TextTable(table.title, columns)


def accuracy_text(choice: Choice, row: ChoiceRow, *, plain: bool = False) -> str:
    """The metric, or the SNR; `plain` without its name."""
    if choice.eager_metric is not None:
        value = "" if row.metric is None else f"{row.metric:.4g}"
        return value if plain or not value else f"metric {value}"
    value = _snr(row)
    return value if plain or not value else f"SNR {value}"


def _accuracy_heading(choice: Choice) -> str:
    if choice.eager_metric is not None:
        return f"metric (eager {choice.eager_metric:.4g})"
    return "numerics (SNR)" if choice.has_random_weights else "accuracy (SNR)"


def find_accuracy(choice: Choice, row: ChoiceRow) -> float | None:
    """What stands for its accuracy as a number: the metric, or the SNR as far as it is no rounding of fp32."""
    if choice.eager_metric is not None:
        return row.metric
    return EXACT_DB if row.is_exact else None if row.snr_db is None else min(row.snr_db, EXACT_DB)


def _floors(choice: Choice) -> str:
    floors = [f"an SNR of at least {choice.min_snr_db:g} dB"] if choice.min_snr_db is not None else []
    floors += [f"a metric of at least {choice.min_metric:g}"] if choice.min_metric is not None else []
    return f" {' and '.join(floors)}" if floors else ""


def _open_sentence(choice: Choice) -> str:
    pairs = [f"{_pair(tie)} ({_ratios(tie.speedup)})" for tie in choice.undecided]
    shown = ", ".join(pairs[:3]) + (f" and {len(pairs) - 3} more" if len(pairs) > 3 else "")
    known = [tie.more_rounds for tie in choice.undecided if tie.more_rounds is not None]
    if choice.more_s is None or not known:
        return f"The time was too short to decide: {shown}. No practical number of rounds would."
    return (
        f"The time was too short to decide: {shown}. About {format_count(max(known), 'more round')} would, "
        f"{format_seconds(choice.more_s)} of measuring: go on with --resume and a --budget of that."
    )


def _basis_sentence(choice: Choice) -> str:
    held_out = f"SNR: the lowest of {format_count(choice.held_out, 'held-out input')}, against eager fp32. "
    return (
        f"{held_out}Verdicts on {format_count(choice.comparisons, 'pair')} hold together with "
        f"{format_percent(choice.confidence, 0)} confidence at every round (Holm's correction); differences of up to "
        f"{format_percent(choice.equivalence_bound, 0)} count as none."
    )


def _standing(choice: Choice, row: ChoiceRow) -> str:
    if row.standing is not Standing.FRONT:
        return str(row.standing)
    marks = ["fastest"] if row.variant == choice.fastest else []
    marks += ["smallest"] if row.variant == choice.smallest else []
    marks += ["below the floor"] if not row.meets_floors else []
    return ", ".join(["front", *marks])


def _layer_cells(row: LayerRow) -> tuple[str, ...]:
    times = [format_ms(each) if each is not None else "" for each in (row.fp32_ms, row.quantised_ms, row.gain_ms)]
    snr = f"{row.snr_db:.1f} dB" if row.snr_db is not None else "not quantised"
    return row.module, snr, format_percent(row.noise_share), *times


def _latency(row: ChoiceRow) -> str:
    if row.latency_ms is None:
        return "no latency"
    return f"{format_ms(row.latency_ms)} ({_milliseconds(row.latency)})" if row.latency else format_ms(row.latency_ms)


def _milliseconds(interval: Interval | None) -> str:
    return f"{format_ms(interval.low)} to {format_ms(interval.high)}" if interval else ""


def _snr(row: ChoiceRow) -> str:
    return "exact" if row.is_exact else f"{row.snr_db:.1f} dB" if row.snr_db is not None else ""


def _bytes(count: int | None) -> str:
    return "" if count is None else format_bytes(count)


def _share(row: ChoiceRow) -> str:
    return format_percent(row.extension_share.value, 0) if row.extension_share else ""


def _percent(share: float | None) -> str:
    return "" if share is None else format_percent(share, 0)


def _pair(tie: Tie) -> str:
    return f"{tie.second.label} against {tie.first.label}"


def _ratios(speedup: Interval | None) -> str:
    return f"{format_ratio(speedup.low)} to {format_ratio(speedup.high)}" if speedup else "too few rounds"


def describe_rows(choice: Choice, rows: Sequence[ChoiceRow]) -> list[str]:
    """Each measured build in a few words, for readers who do not see a chart."""
    return [f"{row.label}: {format_ms(row.latency_ms or 0.0)}, {accuracy_text(choice, row)}" for row in rows]
