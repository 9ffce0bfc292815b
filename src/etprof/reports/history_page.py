"""The trends of a history as text and as one HTML file that needs nothing else."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from markupsafe import Markup

from etprof.core.history import Step, Trend, TrendGroup
from etprof.core.units import format_count, format_ms, format_percent
from etprof.reports import html
from etprof.reports.plots import Drawing, Title, draw_series
from etprof.reports.text_table import Column, TextTable

_LAST_REPORTS = 5
_FACT_LENGTH = 24
_BARS = "▁▂▃▄▅▆▇█"

DevicesByModel = Mapping[tuple[str, str], Sequence[TrendGroup]]


def render(trends: Sequence[Trend], devices: DevicesByModel, *, title: str, folder: Path) -> str:
    """`folder` is where the page will be: links to reports are relative to it."""
    environment = html.build_environment()
    environment.filters["change"] = format_change
    return environment.from_string(html.read_template("history.html.j2")).render(
        title=title,
        trends=trends,
        devices={key: groups for key, groups in devices.items() if len(groups) > 1},
        sentence=trend_sentence,
        step_sentence=step_sentence,
        figure=_draw_figure,
        reports=partial(_list_reports, folder),
        css=Markup(html.read_template("report.css")),
    )


def trend_sentence(trend: Trend) -> str:
    """How many runs, how far they spread, and where the level is now."""
    runs = format_count(len(trend.points), "run")
    now = format_ms(median([point.median_ms for point in trend.stable]))
    if trend.spread is None:
        return f"{runs}: too few to tell a change from noise. Median {now}."
    steps = format_count(len(trend.steps), "change") if trend.steps else "no change"
    spread = f"Single runs spread by {format_percent(trend.spread)} around their level."
    return f"{runs}, {steps} of level. {spread} Now at {now}."


def step_sentence(trend: Trend, step: Step) -> str:
    """When, by how much, whether it is beyond noise, and what changed with it."""
    point = trend.points[step.index]
    noise = "beyond" if step.is_beyond_noise else "within"
    changed = "; ".join(f"{name} {_shorten(old)} to {_shorten(new)}" for name, old, new in step.changed)
    return (
        f"{format_change(step.change)} ({format_ms(step.before_ms)} to {format_ms(step.after_ms)}) from the run of "
        f"{point.started_at} on, {noise} the noise of the device (spread {format_percent(step.spread)}). "
        f"Changed with it: {changed or 'nothing that the manifests tell'}."
    )


def format_change(share: float | None) -> str:
    if share is None:
        return ""
    return f"{format_percent(share)} slower" if share > 0 else f"{format_percent(-share)} faster"


def draw_line(trend: Trend, width: int) -> str:
    """The series as one line of text; the newest runs where there are more than fit."""
    values = [point.median_ms for point in trend.points[-width:]]
    low, high = min(values), max(values)
    return "".join(_BARS[round((value - low) / (high - low) * 7) if high > low else 3] for value in values)


def build_group_table(title: str, groups: Sequence[TrendGroup], heading: str) -> TextTable:
    return TextTable(
        title,
        [
            Column(heading, [group.name for group in groups]),
            Column("runs", [str(group.runs) for group in groups], right=True),
            Column("median", [format_ms(group.median_ms) for group in groups], right=True),
            Column("spread", ["" if g.spread is None else format_percent(g.spread) for g in groups], 1, right=True),
            Column("change", [format_change(group.change) for group in groups]),
        ],
    )


def _draw_figure(trend: Trend) -> Markup:
    def draw(width: int) -> Drawing:
        title = Title(f"{trend.variant} on {trend.device}", "median of each run in ms, the oldest first")
        return draw_series([p.median_ms for p in trend.points], _list_levels(trend), width=width, title=title,
                           across=f"{trend.points[0].started_at} to {trend.points[-1].started_at}")  # fmt: skip

    return html.draw_figure(draw, "A point for each run, a line for each level; a dashed line is a change of level.")


def _list_levels(trend: Trend) -> list[tuple[int, int, float]]:
    edges = [0, *(step.index for step in trend.steps), len(trend.points)]
    return [(a, b, median([point.median_ms for point in trend.points[a:b]])) for a, b in pairwise(edges)]


def _list_reports(folder: Path, trend: Trend) -> list[tuple[str, str]]:
    """The last runs with a report: when, and its address from the page."""
    written = [point for point in trend.points if point.folder.endswith(".html")][-_LAST_REPORTS:]
    return [(point.started_at, os.path.relpath(point.folder, folder.resolve())) for point in reversed(written)]


def _shorten(text: str) -> str:
    return f"{text[: _FACT_LENGTH - 1]}…" if len(text) > _FACT_LENGTH else text or "none"
