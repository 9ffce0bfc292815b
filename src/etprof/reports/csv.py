"""The report as one CSV table: a row for each inference, category and operator of each arm."""

import csv
import io
from collections.abc import Iterator

from etprof.core.report import ArmReport, Report
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
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for arm in report.arms:
        if arm.latency is None:
            writer.writerow({"experiment": _plain(arm.experiment), "threads": arm.threads, **_missing(arm, report)})
        for row in _rows(arm):
            writer.writerow({"experiment": _plain(arm.experiment), "threads": arm.threads, **row})
    return text.getvalue()


def _missing(arm: ArmReport, report: Report) -> dict[str, object]:
    return {"level": "missing", "name": sentences.missing_latency(arm, report)}


def _rows(arm: ArmReport) -> Iterator[dict[str, object]]:
    if arm.latency:
        latency = arm.latency
        times = {"count": latency.samples, "mean_ms": latency.mean_ms, "median_ms": latency.median_ms}
        yield {"level": "latency", "name": "inference", **times}
    for category in arm.categories:
        times = {"mean_ms": category.mean_ms, "share": category.share}
        yield {"level": "category", "name": _plain(category.name), "category": _plain(category.name), **times}
    for row in arm.operators:
        yield {
            "level": "operator",
            "name": _plain(row.name),
            "identity": row.identity,
            "category": _plain(row.category),
            "subcategory": _plain(row.subcategory),
            "delegated": str(row.delegated).lower(),
            "module_path": _plain(row.module_path),
            "kernels": _plain("; ".join(kernel.name for kernel in row.kernels)),
            "count": row.count,
            "mean_ms": row.mean_ms,
            "median_ms": row.median_ms,
            "share": row.share,
        }


def _plain(text: str) -> str:
    """A spreadsheet runs a cell that begins like a formula; an apostrophe in front makes it text."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
