"""Latency statistics as a table of the console: a row for each statistic, a column for each variant."""

from collections.abc import Sequence

from etprof.cli.console import terminal_width
from etprof.core.report import LatencySummary
from etprof.core.units import format_ms, format_percent
from etprof.reports.text_table import Column, TextTable, split_table

_ROWS = ("median", "mad", "mean", "trimmed_mean", "std", "min", "p5", "p25", "p75", "p90", "p95", "p99", "max")


def build_latency_tables(columns: Sequence[tuple[str, LatencySummary]], mode: str, *, wide: bool) -> list[TextTable]:
    """`mode` says whether a tracer was on. As many tables as the terminal's width needs."""
    labels = [
        *(row.replace("mad", "MAD").replace("_", " ") for row in _ROWS),
        "CV",
        "outliers (mild, severe)",
        "iterations in blocks",
    ]
    labels += ["cold", "warm-up", "load"]
    cells = [Column(f"steady, {mode}", labels)]
    cells += [Column(label, _cells(latency), right=True) for label, latency in columns]
    return list(split_table(TextTable("", cells, totals=3), None if wide else terminal_width()))


def _cells(latency: LatencySummary) -> list[str]:
    cells = [format_ms(getattr(latency, f"{row}_ms")) for row in _ROWS]
    cells += [format_percent(latency.cv), f"{latency.outliers_mild}, {latency.outliers_severe}"]
    cells.append(f"{latency.samples} in {latency.blocks}")
    apart = (latency.cold_ms, latency.warmup_ms, latency.load_ms)
    return cells + ["unknown" if value is None else format_ms(value) for value in apart]
