"""The report as one CSV table: a row for each inference, category and operator of each variant."""

import csv
import io
from collections.abc import Iterator

from etprof.core.records import list_categories, list_latencies, list_operators
from etprof.core.report import Report, VariantReport
from etprof.reports import sentences

COLUMNS = (
    "experiment",
    "threads",
    "level",
    "name",
    "identity",
    "category",
    "subcategory",
    "delegated",
    "module_path",
    "kernels",
    "count",
    "mean_ms",
    "median_ms",
    "share",
)


def render(report: Report) -> str:
    """Level `latency` is the untraced inference; those of `category`, and of `operator` with overheads, are traced."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for variant in report.variants:
        for row in _rows(variant, report):
            writer.writerow({column: _cell(value) for column, value in row.items()})
    return text.getvalue()


def _rows(variant: VariantReport, report: Report) -> Iterator[dict[str, object]]:
    if variant.latency is None:
        missing = sentences.missing_latency(variant, report)
        yield {"experiment": variant.experiment, "threads": variant.threads, "level": "missing", "name": missing}
    for latency in list_latencies(variant):
        yield {**latency._asdict(), "level": "latency", "name": "inference", "count": latency.samples}
    for category in list_categories(variant):
        yield {**category._asdict(), "level": "category", "category": category.name}
    for operator in list_operators(variant):
        yield {**operator._asdict(), "level": "operator"}


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return _plain(value) if isinstance(value, str) else value


def _plain(text: str) -> str:
    """A spreadsheet runs a cell that begins like a formula; an apostrophe in front makes it text."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
