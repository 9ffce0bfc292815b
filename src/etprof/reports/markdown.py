"""The report as Markdown, fit for a pull request or a wiki; its charts lie beside it."""

import re
from functools import partial
from importlib import resources

from jinja2 import Environment, StrictUndefined

from etprof.core.findings import group_findings
from etprof.core.layout import CHART_FOLDER
from etprof.core.report import Report
from etprof.core.units import format_bytes, format_count, format_ms, format_percent, format_ratio
from etprof.reports import (
    charts,
    choice_tables,
    forecast_tables,
    kernel_explanation,
    memory_tables,
    phase_tables,
    program_tables,
    roofline_tables,
    sample_places,
    sentences,
    thread_tables,
)
from etprof.reports.first_screen import build_first_screen
from etprof.reports.operator_tables import build_operator_tables
from etprof.reports.rollup_tables import build_rollup_tables

_TOP_OPERATORS = 15


def render(report: Report, *, with_charts: bool = True) -> str:
    template = (resources.files("etprof.reports") / "templates" / "report.md.j2").read_text(encoding="utf-8")
    text = (
        build_environment()
        .from_string(template)
        .render(
            report=report,
            say=sentences,
            explain=kernel_explanation,
            places=sample_places,
            threads=thread_tables,
            programs=program_tables,
            memory=memory_tables,
            choices=choice_tables,
            roofline=roofline_tables,
            forecasts=forecast_tables,
            phases=phase_tables,
            screen=build_first_screen(report),
            top=_TOP_OPERATORS,
            tables=build_operator_tables(report, most_each=_TOP_OPERATORS),
            rollups=build_rollup_tables(report, _TOP_OPERATORS),
            chart=partial(_link, charts.list_charts(report) if with_charts else ()),
        )
    )
    return tidy(text)


def render_files(report: Report) -> dict[str, bytes]:
    """Its charts, by their names from where the Markdown file lies."""
    return {f"{CHART_FOLDER}/{name}": content for name, content in charts.render_files(report).items()}


def build_environment() -> Environment:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.filters.update(
        ms=format_ms,
        percent=format_percent,
        ratio=format_ratio,
        bytes=format_bytes,
        cell=escape_text,
        plural=format_count,
        grouped=group_findings,
    )
    return environment


def tidy(text: str) -> str:
    """One blank line between paragraphs, none between the rows of a table."""
    text = re.sub(r"\|\n\n(?=\|)", "|\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def escape_text(text: object) -> str:
    """Text from a model or a device, made harmless in a table cell: no markup, no cell border, one line."""
    flat = " ".join(str(text).split())
    return re.sub(r"([\\`*_|<>\[\]#&~!$])", r"\\\1", flat)


def _link(known: tuple[charts.ChartFile, ...], name: str) -> str:
    chart = next((chart for chart in known if chart.name == name), None)
    return f"![{escape_text(chart.caption)}]({CHART_FOLDER}/{chart.name}.svg)" if chart else ""
