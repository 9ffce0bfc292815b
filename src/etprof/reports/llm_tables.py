"""The tests of a language model as a table: on a terminal, in Markdown, as JSON and as CSV."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from etprof.core.csv_cells import guard_cell
from etprof.core.llm import PREFILL, LlmLogRecord, LlmMemory, LlmRecord, LlmResults, LlmRow
from etprof.core.plan import Variant
from etprof.core.units import NO_TIMES, format_bytes, format_ms, format_percent, format_ratio
from etprof.reports.markdown import escape_text
from etprof.reports.text_table import Column, TextTable, render_table, wrap

# 1: the first.
SCHEMA_VERSION = 1
_HEADINGS = ("test", "variant", "tokens/s", "interval", "to first token", "speed-up", "verdict", "where the time goes")
_NUMBERS = ("tokens/s", "interval", "to first token")
_IMPORTANCE = {"interval": 1, "to first token": 2, "where the time goes": 4, "verdict": 3}
_CATEGORIES_SHOWN = 3


def render_console(results: LlmResults, width: int | None) -> str:
    columns = zip(_HEADINGS, zip(*map(_cells, results.rows), strict=True), strict=True)
    shown = [Column(head, cells, _IMPORTANCE.get(head, 0), right=head in _NUMBERS) for head, cells in columns]
    table = render_table(TextTable(_title(results), shown, more="llm.md has all"), width)
    return table + "".join(wrap(f"{sentence}", width) + "\n" for sentence in map(_memory_sentence, results.memory))


def render_markdown(results: LlmResults) -> str:
    lines = ["# Language model", "", f"{_title(results)}.", ""]
    lines += [
        f"| {' | '.join(_HEADINGS)} |",
        f"|{'|'.join(' ---: ' if h in _NUMBERS else ' --- ' for h in _HEADINGS)}|",
    ]
    lines += [f"| {' | '.join(map(escape_text, _cells(row)))} |" for row in results.rows]
    lines += ["", *(f"- {escape_text(_memory_sentence(each))}" for each in results.memory)]
    return "\n".join(lines) + "\n"


def render_json(results: LlmResults) -> str:
    content = {
        "schema_version": SCHEMA_VERSION,
        "confidence": results.confidence,
        "times_are_real": results.times_are_real,
        "tests": [
            {**row.record._asdict(), "categories": {each.name: each.share for each in row.categories}}
            for row in results.rows
        ],
        "memory": [asdict(each) for each in results.memory],
    }
    return json.dumps(content, indent=2) + "\n"


def render_csv(results: LlmResults) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*LlmRecord._fields, "categories"))
    for row in results.rows:
        writer.writerow(guard_cell(value) for value in (*row.record, _categories(row, len(row.categories))))
    return text.getvalue()


# By the suffix of the file.
RENDERERS: dict[str, Callable[[LlmResults], str]] = {
    "md": render_markdown,
    "json": render_json,
    "csv": render_csv,
}


def _title(results: LlmResults) -> str:
    if not results.times_are_real:
        return f"Tests of the language model ({NO_TIMES})"
    return f"Tests of the language model; intervals are {format_percent(results.confidence, 0)}"


def _cells(row: LlmRow) -> tuple[str, ...]:
    record = row.record
    has_interval = record.tokens_per_s_low is not None and record.tokens_per_s_high is not None
    return (
        record.test,
        Variant(record.experiment, record.threads).label,
        _rate(record.tokens_per_s),
        f"{_rate(record.tokens_per_s_low)} to {_rate(record.tokens_per_s_high)}" if has_interval else "",
        format_ms(record.time_ms) if record.phase == PREFILL and record.time_ms is not None else "",
        _speedup_text(record),
        record.verdict,
        _categories(row, _CATEGORIES_SHOWN),
    )


def _rate(rate: float | None) -> str:
    if rate is None:
        return ""
    return f"{rate:.0f}" if rate >= 1000 else f"{rate:.4g}"


def _speedup_text(record: LlmRecord) -> str:
    if record.speedup is None or record.speedup_low is None or record.speedup_high is None:
        return ""
    bounds = f"{format_ratio(record.speedup_low)} to {format_ratio(record.speedup_high)}"
    return f"{format_ratio(record.speedup)} ({bounds})"


def _categories(row: LlmRow, most: int) -> str:
    return ", ".join(f"{each.name} {format_percent(each.share, 0)}" for each in row.categories[:most])


def _memory_sentence(memory: LlmMemory) -> str:
    parts = {"file": memory.file_bytes, "weights": memory.weight_bytes, "cache": memory.cache_bytes}
    known = ", ".join(f"{name} {format_bytes(count)}" for name, count in parts.items() if count is not None)
    return f"{memory.model}: {known or 'sizes not known'}."


def build_log_table(logs: Mapping[str, Sequence[LlmLogRecord]]) -> TextTable:
    """What ExecuTorch's own runners printed, by the name of each log."""
    rows = [(name, each) for name, found in logs.items() for each in found]
    columns = {
        "log": [name for name, _ in rows],
        "prompt": [str(each.prompt_tokens) for _, each in rows],
        "generated": [str(each.generated_tokens) for _, each in rows],
        "prefill tokens/s": [_rate(each.prefill_tokens_per_s) for _, each in rows],
        "decode tokens/s": [_rate(each.decode_tokens_per_s) for _, each in rows],
        "to first token": [_time(each.first_token_ms) for _, each in rows],
        "load": [_time(each.load_ms) for _, each in rows],
        "sampling": [_time(each.sampling_ms) for _, each in rows],
    }
    importance = {"sampling": 2, "load": 1}
    shown = [Column(head, cells, importance.get(head, 0), right=head != "log") for head, cells in columns.items()]
    return TextTable("As ExecuTorch's runner measured: tokenizer and sampling included", shown)


def render_log_csv(logs: Mapping[str, Sequence[LlmLogRecord]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("log", *LlmLogRecord._fields))
    for name, found in logs.items():
        writer.writerows([guard_cell(name), *each] for each in found)
    return text.getvalue()


def _time(time_ms: float | None) -> str:
    return "" if time_ms is None else format_ms(time_ms)
