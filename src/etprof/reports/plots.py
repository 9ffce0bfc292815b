"""The two kinds of plot that the charts are made of: points on bands, and bars on rows."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
from altair.utils.schemapi import debug_mode

from etprof.reports.palette import GRID, INK, MARK, PAPER, category_colour
from etprof.reports.plain_text import printable

# A complete Vega-Lite specification.
Drawing = dict[str, Any]
Values = Sequence[Mapping[str, Any]]

_ROW_HEIGHT = 36
_BAND_HEIGHT = 110
# These have the same widths, with which the drawing is laid out before a browser chooses one.
_FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
_PIXELS_PER_LETTER = 6.4


class Title(NamedTuple):
    text: str
    subtitle: str


class Row(NamedTuple):
    """What stands above a row: a name, which may be cut where it is too long, and a value, which may not."""

    number: int
    name: str
    value: str


class Bar(NamedTuple):
    """A bar on a row; without a category it is a total and has the colour of text."""

    row: int
    category: str
    start: float
    end: float
    text: str


@debug_mode(False)  # a test checks the specifications; at run time that takes most of the time
def draw_bars(bars: Sequence[Bar], labels: Sequence[Row], *, width: int, title: Title, unit: str | None) -> Drawing:
    """Bars from `start` to `end`. Without a unit there is no axis: the bars carry their values."""
    bars = [bar._replace(category=printable(bar.category)) for bar in bars]
    names = list(dict.fromkeys(bar.category for bar in bars if bar.category))
    colour = alt.Color(
        "category:N",
        scale=alt.Scale(domain=names, range=[category_colour(name).fill for name in names]),
        legend=alt.Legend(title=None, orient="bottom", columns=max(1, width // 150), columnPadding=18),
    )
    x = alt.X("x:Q", scale=alt.Scale(nice=False, zero=True), axis=_axis(unit, width))
    y = _y(len(labels))
    coloured = _chart("bars").mark_rect(aria=False).encode(x, alt.X2("x2"), y, alt.Y2("y2"), colour)
    totals = _chart("totals").mark_rect(aria=False, color=INK, opacity=0.75).encode(x, alt.X2("x2"), y, alt.Y2("y2"))
    inside = _chart("inside").mark_text(aria=False, fontSize=11, baseline="middle")
    inside = inside.encode(x, y, text="text:N", color=alt.Color("ink:N", scale=None))
    rects = [{"y": b.row + 0.42, "y2": b.row + 0.9, "x": b.start, "x2": b.end, "category": b.category} for b in bars]
    data = {
        "bars": [rect for rect in rects if rect["category"]],
        "totals": [rect for rect in rects if not rect["category"]],
        "inside": [
            {"y": b.row + 0.66, "x": (b.start + b.end) / 2, "text": b.text, "ink": category_colour(b.category).text}
            for b in bars
            if b.text
        ],
        "labels": _place_labels(labels, 0.36, width),
    }
    return _finish([totals, coloured, inside, _label_layer(y)], data, width, len(labels) * _ROW_HEIGHT, title)


@debug_mode(False)  # a test checks the specifications; at run time that takes most of the time
def draw_points(points: Values, medians: Values, labels: Sequence[Row], *, width: int, title: Title) -> Drawing:
    """Points `ms`, `y` in bands of height one, and a line from `y` to `end` at each median."""
    x = alt.X("ms:Q", scale=alt.Scale(zero=False, nice=True), axis=_axis("ms", width))
    y = _y(len(labels))
    dots = _chart("points").mark_circle(aria=False, size=12, color=INK, opacity=0.45).encode(x, y)
    middle = _chart("medians").mark_rule(aria=False, color=MARK, strokeWidth=2).encode(x, y, alt.Y2("end"))
    data = {"points": points, "medians": medians, "labels": _place_labels(labels, 0.36, width, lines=2)}
    return _finish([dots, middle, _label_layer(y)], data, width, len(labels) * _BAND_HEIGHT, title)


def _chart(data: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=data))


def _y(rows: int) -> alt.Y:
    return alt.Y("y:Q", scale=alt.Scale(domain=[0, rows], reverse=True, nice=False), axis=None)


def _axis(unit: str | None, width: int) -> alt.Axis | None:
    return alt.Axis(title=unit, tickCount=max(3, width // 90)) if unit else None


def _label_layer(y: alt.Y) -> alt.Chart:
    mark = _chart("labels").mark_text(
        aria=False, align="left", baseline="line-bottom", fontSize=12, color=INK, lineBreak="\n"
    )
    encoded: alt.Chart = mark.encode(x=alt.value(0), y=y, text="label:N")
    return encoded


def _place_labels(labels: Sequence[Row], above: float, width: int, lines: int = 1) -> Values:
    room = int(width / _PIXELS_PER_LETTER)
    placed = []
    for row in labels:
        # What is no letter would end the process inside the drawing library.
        name = printable(" ".join(row.name.split()))
        value = f": {row.value}" if row.value else ""
        if lines > 1 and len(name) + len(value) > room:
            label = f"{_shorten(name, room)}\n{row.value}"
        else:
            label = _shorten(name, room - len(value)) + value
        placed.append({"y": row.number + above, "label": label})
    return placed


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 1)]}\u2026"


def _finish(layers: list[alt.Chart], data: Mapping[str, Values], width: int, height: int, title: Title) -> Drawing:
    columns = int(width / _PIXELS_PER_LETTER)
    chart = alt.LayerChart(
        layer=layers,
        width=width,
        height=height,
        padding=4,
        title=alt.TitleParams(
            text=textwrap.wrap(title.text, columns), subtitle=textwrap.wrap(title.subtitle, columns), anchor="start"
        ),
        config=alt.Config(
            background=PAPER,
            font=_FONT,
            view=alt.ViewConfig(stroke=None),
            title=alt.TitleConfig(
                frame="group", fontSize=14, color=INK, subtitleColor=INK, subtitleFontSize=12, offset=10
            ),
            axis=alt.AxisConfig(
                labelColor=INK, titleColor=INK, gridColor=GRID, gridOpacity=0.35, domainColor=GRID, tickColor=GRID
            ),
            legend=alt.LegendConfig(labelColor=INK, symbolType="square", labelFontSize=12, labelLimit=0),
        ),
    )
    # The data joins last: altair copies what it holds at every step.
    return {**chart.to_dict(validate=False), "datasets": {name: list(values) for name, values in data.items()}}
