"""The report as one HTML file that needs nothing else: no network, no fonts, and no scripts for its static parts."""

import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from functools import partial
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from etprof.core.findings import group_findings
from etprof.core.report import Report
from etprof.core.units import format_bytes, format_count, format_ms, format_percent, format_ratio
from etprof.reports import (
    charts,
    choice_tables,
    forecast_tables,
    json,
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
from etprof.reports.flame import render_flame
from etprof.reports.module_tree import build_module_trees
from etprof.reports.operator_tables import build_operator_tables
from etprof.reports.palette import category_colour
from etprof.reports.plots import Drawing
from etprof.reports.rollup_tables import build_rollup_tables

_TOP_GROUPS = 40


def render(report: Report) -> str:
    script = read_template("report.js")
    return (
        build_environment()
        .from_string(read_template("report.html.j2"))
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
            heading="h2",
            alone=True,
            chart=partial(_draw, charts.list_charts(report)),
            flame=lambda evidence: Markup(render_flame(evidence)),
            screen=build_first_screen(report),
            trees=build_module_trees(report),
            tables=build_operator_tables(report),
            rollups=build_rollup_tables(report, _TOP_GROUPS),
            css=Markup(read_template("report.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            data=_pack(report),
        )
    )


def build_environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(read_template),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.globals["colour"] = _colour
    environment.filters.update(
        ms=format_ms,
        percent=format_percent,
        ratio=format_ratio,
        bytes=format_bytes,
        code=_mark_code,
        breakable=_mark_breaks,
        plural=format_count,
        grouped=group_findings,
    )
    return environment


def read_template(name: str) -> str:
    return (resources.files("etprof.reports") / "templates" / name).read_text(encoding="utf-8")


def _pack(report: Report) -> str:
    """The report's JSON, small and without a character that means anything to HTML."""
    return base64.b64encode(gzip.compress(json.render_compact(report).encode(), mtime=0)).decode()


def _mark_code(text: str) -> Markup:
    """What stands between backticks in a sentence, set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _mark_breaks(name: str) -> Markup:
    """A name that may continue on the next line after each of its parts."""
    return Markup(re.sub(r"([._]|/(?=\w\w))", r"\1<wbr>", str(escape(name))))


def _colour(category: str) -> str:
    return category_colour(category).fill


def _draw(known: tuple[charts.ChartFile, ...], name: str) -> Markup:
    """The figure of a chart by its name; empty if the report has none of that name."""
    chart = next((chart for chart in known if chart.name == name), None)
    return (
        draw_figure(chart.draw, chart.caption, charts.FULL if chart.is_full else charts.WIDE) if chart else Markup("")
    )


def draw_figure(draw: Callable[[int], Drawing], caption: str, width: int = charts.FULL) -> Markup:
    """A chart at the width of a desk and of a phone; the style sheet shows one of them."""
    wide, narrow = (draw(each).render(paper=False) for each in (width, charts.NARROW))
    return Markup(
        '<figure><div class="wide" aria-hidden="true">{}</div><div class="narrow" aria-hidden="true">{}</div>'
        "<figcaption>{}</figcaption></figure>"
    ).format(Markup(wide), Markup(narrow), caption)
