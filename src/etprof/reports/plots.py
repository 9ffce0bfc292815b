"""The kinds of plot that the charts are made of, drawn as SVG: points on bands, bars on rows, and lines.

Lines and text have the colour of the text around them (currentColor), so that a chart reads on light and dark pages.
"""

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.sax.saxutils import escape

from etprof.reports.palette import INK, LINES, MARK, PAPER, category_colour
from etprof.reports.plain_text import printable

_ROW_HEIGHT = 36
_BAND_HEIGHT = 110
MARGIN = 6
# These have the same widths, with which the drawing is laid out before a browser chooses one.
_FONT = "'Liberation Sans', Arial, Helvetica, sans-serif"
PIXELS_PER_LETTER = 6.4
_LEGEND_ENTRY = 150
LINES_HEIGHT = 220
AXIS_WIDTH = 46
_CAP = 4
_DISCS_HEIGHT, _LARGEST_DISC = 260, 16.0


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


class Point(NamedTuple):
    """`y` counts bands from the top."""

    value: float
    y: float


class Median(NamedTuple):
    """A line across its band, from `y` to `end`."""

    value: float
    y: float
    end: float


class Mark(NamedTuple):
    """A value of a line, and the ends of its interval, which are the value where it has none."""

    x: int
    value: float
    low: float
    high: float


class Disc(NamedTuple):
    """A point with an area: `weight` is a share of the largest. Without a number it stands back behind the others."""

    x: float
    y: float
    weight: float
    number: int | None
    name: str


class Line(NamedTuple):
    name: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Drawing:
    """A picture of a given size, and the values it shows."""

    width: int
    height: float
    body: str
    bars: tuple[Bar, ...] = ()
    points: tuple[Point, ...] = ()
    lines: tuple[Line, ...] = ()

    def render(self, *, paper: bool = True) -> str:
        """The SVG; without `paper` it is meant for a page, whose background and colour of text it takes."""
        size = f'viewBox="0 0 {self.width} {self.height:g}" width="{self.width}" height="{self.height:g}"'
        colour = f' color="{INK}"' if paper else ""
        sheet = f'<rect width="{self.width}" height="{self.height:g}" fill="{PAPER}"/>' if paper else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}{colour} font-family="{_FONT}" fill="currentColor" '
            f'font-size="12">{sheet}{self.body}</svg>'
        )


@dataclass(frozen=True)
class Scale:
    """Values to pixels across the drawing, with the ticks of its axis."""

    low: float
    high: float
    width: int

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        return MARGIN + (value - self.low) / span * (self.width - 2 * MARGIN) if span else MARGIN

    @property
    def ticks(self) -> list[float]:
        step = self._step
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]

    @property
    def _step(self) -> float:
        """1, 2 or 5 times a power of ten, so that there are about as many ticks as fit."""
        rough = (self.high - self.low or 1.0) / max(3, self.width // 70)
        power = 10.0 ** math.floor(math.log10(rough))
        return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)

    def label(self, tick: float) -> str:
        return f"{tick:.{max(0, -math.floor(math.log10(self._step)))}f}"


def draw_bars(bars: Sequence[Bar], labels: Sequence[Row], *, width: int, title: Title, unit: str | None) -> Drawing:
    """Bars from `start` to `end`. Without a unit there is no axis: the bars carry their values."""
    scale = Scale(min(0.0, *(bar.start for bar in bars)), max(bar.end for bar in bars), width)
    head, top = draw_title(title, width)
    bottom = top + len(labels) * _ROW_HEIGHT
    parts = [head]
    if unit:
        parts.append(_draw_grid(scale, top, len(labels), _ROW_HEIGHT))
    parts += [_draw_bar(bar, scale, top) for bar in bars]
    parts += [_draw_label(row, top, _ROW_HEIGHT, width) for row in labels]
    if unit:
        parts.append(_draw_axis(scale, bottom, unit))
        bottom += 42
    legend, height = draw_legend([bar.category for bar in bars], bottom + 14, width)
    return Drawing(width, height, "".join([*parts, legend]), bars=tuple(bars))


def draw_points(
    points: Sequence[Point], medians: Sequence[Median], labels: Sequence[Row], *, width: int, title: Title
) -> Drawing:
    """Points in bands of height one, and a line at each median."""
    values = [point.value for point in points] or [0.0]
    scale = round_outwards(Scale(min(values), max(values), width))
    head, top = draw_title(title, width)
    bottom = top + len(labels) * _BAND_HEIGHT
    dots = "".join(
        f'<circle cx="{scale(point.value):.1f}" cy="{top + point.y * _BAND_HEIGHT:.1f}" r="2"/>' for point in points
    )
    lines = "".join(
        f'<path d="M{scale(m.value):.1f} {top + m.y * _BAND_HEIGHT:.1f}V{top + m.end * _BAND_HEIGHT:.1f}" '
        f'stroke="{MARK}" stroke-width="2"/>'
        for m in medians
    )
    parts = [
        head,
        _draw_grid(scale, top, len(labels), _BAND_HEIGHT),
        f'<g fill-opacity="0.45">{dots}</g>{lines}',
        *(_draw_label(row, top, _BAND_HEIGHT, width, lines=2) for row in labels),
        _draw_axis(scale, bottom, "ms"),
    ]
    return Drawing(width, bottom + 42, "".join(parts), points=tuple(points))


def draw_lines(lines: Sequence[Line], *, width: int, title: Title, across: str) -> Drawing:
    """Values from zero on over counts, each twice the count one step further; a bar is the interval of its value."""
    heights = round_outwards(Scale(0.0, max(mark.high for line in lines for mark in line.marks), LINES_HEIGHT))
    counts = sorted({mark.x for line in lines for mark in line.marks})
    places = Scale(math.log2(counts[0]), math.log2(counts[-1]), width - 2 * AXIS_WIDTH)
    head, top = draw_title(title, width)
    bottom = top + LINES_HEIGHT

    def x(count: int) -> float:
        return AXIS_WIDTH + places(math.log2(count))

    def y(value: float) -> float:
        return bottom - value / heights.high * LINES_HEIGHT

    parts = [head, draw_heights(heights, y, width), _draw_counts({count: x(count) for count in counts}, bottom)]
    parts.append(f'<text x="{width / 2:g}" y="{bottom + 32:g}" text-anchor="middle">{safe(across)}</text>')
    at = bottom + 50.0
    for number, line in enumerate(lines):
        colour, dashes = LINES[number % len(LINES)]
        stroke = f'stroke="{colour}" stroke-width="2" fill="none"'
        dashed = f'{stroke} stroke-dasharray="{dashes}"' if dashes else stroke
        path = "L".join(f"{x(mark.x):.1f} {y(mark.value):.1f}" for mark in line.marks)
        bars = "".join(_interval_path(x(mark.x), y(mark.low), y(mark.high)) for mark in line.marks)
        dots = "".join(f'<circle cx="{x(m.x):.1f}" cy="{y(m.value):.1f}" r="3" fill="{colour}"/>' for m in line.marks)
        parts.append(f'<path d="M{path}" {dashed}/><path d="{bars}" {stroke}/>{dots}')
        parts.append(f'<path d="M{MARGIN} {at - 4:g}h30" {dashed}/>')
        room = int((width - MARGIN - 40) / PIXELS_PER_LETTER)
        parts.append(f'<text x="{MARGIN + 38}" y="{at:g}">{safe(shorten(line.name, room))}</text>')
        at += 17
    return Drawing(width, at, "".join(parts), lines=tuple(lines))


def draw_series(
    values: Sequence[float], levels: Sequence[tuple[int, int, float]], *, width: int, title: Title, across: str
) -> Drawing:
    """Values in their order; each level is a line at its value from one number to before another."""
    scale = round_outwards(Scale(min(values), max(values), 2 * LINES_HEIGHT))
    places = Scale(0.0, max(len(values) - 1, 1), width - AXIS_WIDTH)
    head, top = draw_title(title, width)
    bottom = top + LINES_HEIGHT

    def x(number: float) -> float:
        return AXIS_WIDTH + places(number)

    def y(value: float) -> float:
        return bottom - (value - scale.low) / (scale.high - scale.low) * LINES_HEIGHT

    dots = "".join(f'<circle cx="{x(n):.1f}" cy="{y(value):.1f}" r="3"/>' for n, value in enumerate(values))
    lines = "".join(
        f'<path d="M{x(max(start - 0.4, 0)):.1f} {y(value):.1f}H{x(min(end - 0.6, len(values) - 1)):.1f}" '
        f'stroke="{MARK}" stroke-width="2"/>'
        for start, end, value in levels
    )
    steps = "".join(f"M{x(start - 0.5):.1f} {top:.1f}V{bottom:.1f}" for start, _, _ in levels if start)
    parts = [
        head,
        draw_heights(scale, y, width),
        f'<path d="{steps}" stroke="currentColor" stroke-dasharray="4 3" opacity="0.6"/>',
        f'<g fill-opacity="0.6">{dots}</g>{lines}',
        f'<text x="{width / 2:g}" y="{bottom + 20:g}" text-anchor="middle">{safe(across)}</text>',
    ]
    return Drawing(width, bottom + 30, "".join(parts), points=tuple(Point(value, n) for n, value in enumerate(values)))


def draw_discs(discs: Sequence[Disc], *, width: int, title: Title, across: str, up: str) -> Drawing:
    """Discs over two quantities, each from zero on; those with a number are named below the drawing."""
    head, top = draw_title(title, width)
    top += _LARGEST_DISC
    bottom = top + _DISCS_HEIGHT
    places = round_outwards(Scale(0.0, max(disc.x for disc in discs), width - AXIS_WIDTH - 3 * MARGIN))
    heights = round_outwards(Scale(min(0.0, *(d.y for d in discs)), max(d.y for d in discs), _DISCS_HEIGHT))

    def y(value: float) -> float:
        return bottom - (value - heights.low) / (heights.high - heights.low) * _DISCS_HEIGHT

    parts = [head, draw_heights(heights, y, width)]
    parts += [
        f'<text x="{AXIS_WIDTH + places(tick):.1f}" y="{bottom + 16:g}" font-size="10" text-anchor="middle">'
        f"{places.label(tick)}</text>"
        for tick in places.ticks
    ]
    parts.append(f'<text x="{width / 2:g}" y="{bottom + 32:g}" text-anchor="middle">{safe(across)}</text>')
    parts.append(f'<text x="{MARGIN}" y="{top - 8:g}" font-size="10">{safe(up)}</text>')
    room = int((width - 2 * MARGIN) / PIXELS_PER_LETTER)
    for disc in sorted(discs, key=lambda disc: -disc.weight):
        parts.append(_draw_disc(disc, AXIS_WIDTH + places(disc.x), y(disc.y)))
    named = [disc for disc in discs if disc.number is not None]
    for place, disc in enumerate(named):
        parts.append(_text(shorten(f"{disc.number}  {disc.name}", room), bottom + 52 + 17 * place))
    return Drawing(width, bottom + 44 + 17 * len(named), "".join(parts), points=tuple(Point(d.x, d.y) for d in discs))


def _draw_disc(disc: Disc, x: float, y: float) -> str:
    radius = max(4.0, _LARGEST_DISC * math.sqrt(disc.weight))
    look = f'fill="{MARK}" fill-opacity="0.75"' if disc.number is not None else 'fill="none" opacity="0.55"'
    circle = (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" {look} stroke="currentColor">'
        f"<title>{safe(disc.name)}</title></circle>"
    )
    if disc.number is None:
        return circle
    return f'{circle}<text x="{x + radius + 3:.1f}" y="{y + 4:.1f}" font-weight="bold">{disc.number}</text>'


def _interval_path(x: float, low: float, high: float) -> str:
    left, right = x - _CAP, x + _CAP
    return f"M{x:.1f} {low:.1f}V{high:.1f}M{left:.1f} {low:.1f}H{right:.1f}M{left:.1f} {high:.1f}H{right:.1f}"


def draw_heights(heights: Scale, y: Callable[[float], float], width: int) -> str:
    grid = "".join(f"M{AXIS_WIDTH} {y(tick):.1f}H{width - MARGIN}" for tick in heights.ticks)
    labels = "".join(
        f'<text x="{AXIS_WIDTH - 6}" y="{y(tick) + 3.5:.1f}" font-size="10" text-anchor="end">'
        f"{heights.label(tick)}</text>"
        for tick in heights.ticks
    )
    return f'<path d="{grid}" stroke="currentColor" opacity="0.2"/>{labels}'


def _draw_counts(places: Mapping[int, float], bottom: float) -> str:
    return "".join(
        f'<text x="{place:.1f}" y="{bottom + 16:g}" font-size="10" text-anchor="middle">{count}</text>'
        for count, place in places.items()
    )


def round_outwards(scale: Scale) -> Scale:
    """The scale from a tick to a tick, so that no point lies on the edge."""
    step = scale._step
    low, high = math.floor(scale.low / step) * step, math.ceil(scale.high / step) * step
    return Scale(low, high if high > low else low + step, scale.width)


def draw_title(title: Title, width: int) -> tuple[str, float]:
    """The title and where the drawing below it begins."""
    columns = int(width / PIXELS_PER_LETTER)
    at, parts = 0.0, []
    for text, style, height in ((title.text, ' font-size="14" font-weight="bold"', 18), (title.subtitle, "", 16)):
        for line in textwrap.wrap(text, columns):
            at += height
            parts.append(f'<text x="{MARGIN}" y="{at - 3:g}"{style}>{safe(line)}</text>')
    return "".join(parts), at + 8


def _draw_grid(scale: Scale, top: float, rows: int, height: int) -> str:
    """Lines at the ticks, in the lower part of each row only: the upper part is for its label."""
    spans = [(top + (row + 0.4) * height, top + (row + 0.97) * height) for row in range(rows)]
    paths = "".join(f"M{scale(tick):.1f} {start:.1f}V{end:.1f}" for tick in scale.ticks for start, end in spans)
    return f'<path d="{paths}" stroke="currentColor" opacity="0.2"/>'


def _draw_axis(scale: Scale, y: float, unit: str) -> str:
    def anchor(tick: float) -> str:
        x = scale(tick)
        return "start" if x < 3 * MARGIN else "end" if x > scale.width - 3 * MARGIN else "middle"

    ticks = "".join(
        f'<text x="{scale(tick):.1f}" y="{y + 16:g}" font-size="10" text-anchor="{anchor(tick)}">'
        f"{scale.label(tick)}</text>"
        for tick in scale.ticks
    )
    line = f'<path d="M{MARGIN} {y:g}H{scale.width - MARGIN}" stroke="currentColor" opacity="0.6"/>'
    return f'{line}{ticks}<text x="{scale.width / 2:g}" y="{y + 32:g}" text-anchor="middle">{safe(unit)}</text>'


def _draw_bar(bar: Bar, scale: Scale, top: float) -> str:
    start, end = scale(bar.start), scale(bar.end)
    y = top + (bar.row + 0.42) * _ROW_HEIGHT
    fill = f'fill="{category_colour(bar.category).fill}"' if bar.category else 'opacity="0.75"'
    size = f'width="{max(end - start, 0.0):.2f}" height="{0.48 * _ROW_HEIGHT:.1f}"'
    rect = f'<rect x="{start:.2f}" y="{y:.1f}" {size} {fill}/>'
    if not bar.text:
        return rect
    ink = category_colour(bar.category).text
    middle = (start + end) / 2
    return rect + (
        f'<text x="{middle:.1f}" y="{y + 0.36 * _ROW_HEIGHT:.1f}" font-size="11" text-anchor="middle" '
        f'fill="{ink}">{safe(bar.text)}</text>'
    )


def _draw_label(row: Row, top: float, height: int, width: int, lines: int = 1) -> str:
    room = int((width - 2 * MARGIN) / PIXELS_PER_LETTER)
    name, value = " ".join(row.name.split()), f": {row.value}" if row.value else ""
    y = top + (row.number + 0.4) * height - 4
    if lines > 1 and len(name) + len(value) > room:
        return _text(shorten(name, room), y - 15) + _text(row.value, y)
    return _text(shorten(name, room - len(value)) + value, y)


def _text(text: str, y: float) -> str:
    return f'<text x="{MARGIN}" y="{y:.1f}">{safe(text)}</text>'


def draw_legend(categories: Sequence[str], top: float, width: int) -> tuple[str, float]:
    names = list(dict.fromkeys(category for category in categories if category))
    columns = max(1, width // _LEGEND_ENTRY)
    parts = []
    for number, name in enumerate(names):
        x, y = MARGIN + number % columns * _LEGEND_ENTRY, top + number // columns * 17
        parts.append(f'<rect x="{x}" y="{y:g}" width="10" height="10" fill="{category_colour(name).fill}"/>')
        parts.append(f'<text x="{x + 15}" y="{y + 9:g}">{safe(shorten(name, 21))}</text>')
    return "".join(parts), top + math.ceil(len(names) / columns) * 17 + (4 if names else -10)


def shorten(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: max(room - 1, 1)]}\u2026"


def safe(text: str) -> str:
    return escape(printable(text))
