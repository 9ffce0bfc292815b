"""The roofline as a plot: operators as points between lines that they cannot cross, both axes logarithmic."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from etprof.core.roofline import Roof
from etprof.reports.palette import LINES, category_colour
from etprof.reports.plots import (
    AXIS_WIDTH,
    MARGIN,
    PIXELS_PER_LETTER,
    Drawing,
    Point,
    Title,
    draw_legend,
    draw_title,
    safe,
    shorten,
)

_HEIGHT = 300
_SMALLEST, _LARGEST = 2.5, 11.0
# Slower operators lie on the lower edge.
_MOST_DECADES = 5
_DASHES = ("", "8 3", "3 3")


class Dot(NamedTuple):
    """`weight` is a share of the largest area; `hint` shows when a pointer rests on the dot."""

    x: float
    y: float
    weight: float
    category: str
    hint: str


class _Axis(NamedTuple):
    """Decades to pixels."""

    low: int
    high: int
    start: float
    end: float

    def __call__(self, value: float) -> float:
        place = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + min(max(place, 0.0), 1.0) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def draw_roofline(
    dots: Sequence[Dot], compute: Sequence[Roof], memory: Sequence[Roof], *, width: int, title: Title
) -> Drawing:
    head, top = draw_title(title, width)
    bottom = top + _HEIGHT
    across, up = _scale(dots, compute, memory, width, (bottom, top))
    parts = [head, _draw_axes(across, up, width, bottom)]
    highest = max(roof.rate for roof in compute)
    at = bottom + 50.0
    roofs = [(_memory_path(roof, highest, across, up), f"{roof.name}: {_three(roof.rate)} GB/s") for roof in memory]
    roofs += [(_compute_path(roof, memory, across, up), f"{roof.name}: {_three(roof.rate)} Gop/s") for roof in compute]
    for number, (path, text) in enumerate(roofs):
        is_memory = number < len(memory)
        dark = ("currentColor", _DASHES[(number - len(memory)) % len(_DASHES)])
        colour, dashes = LINES[number % len(LINES)] if is_memory else dark
        stroke = f'stroke="{colour}" stroke-width="{1.5 if is_memory else 2}" fill="none"'
        stroke += f' stroke-dasharray="{dashes}"' if dashes else ""
        room = int((width - MARGIN - 40) / PIXELS_PER_LETTER)
        parts.append(f'<path d="{path}" {stroke}/><path d="M{MARGIN} {at - 4:g}h30" {stroke}/>')
        parts.append(f'<text x="{MARGIN + 38}" y="{at:g}">{safe(shorten(text, room))}</text>')
        at += 17
    parts += [_draw_dot(dot, across, up) for dot in sorted(dots, key=lambda dot: -dot.weight)]
    legend, height = draw_legend([dot.category for dot in dots], at, width)
    points = tuple(Point(dot.x, dot.y) for dot in dots)
    return Drawing(width, height, "".join([*parts, legend]), points=points)


def _scale(
    dots: Sequence[Dot], compute: Sequence[Roof], memory: Sequence[Roof], width: int, heights: tuple[float, float]
) -> tuple[_Axis, _Axis]:
    """Whole decades around all dots, and around the point where the slowest memory meets the fastest instructions."""
    highest = max(roof.rate for roof in compute)
    ridge = highest / min((roof.rate for roof in memory), default=highest)
    left = math.floor(math.log10(min([0.1, *(dot.x for dot in dots)])))
    right = math.ceil(math.log10(max([10.0, 2 * ridge, *(dot.x for dot in dots)])))
    top = math.ceil(math.log10(1.2 * max([highest, *(dot.y for dot in dots)])))
    low = math.floor(math.log10(min([highest / 10, *(dot.y for dot in dots)])))
    across = _Axis(left, right, AXIS_WIDTH, width - 3 * MARGIN)
    return across, _Axis(max(low, top - _MOST_DECADES), top, *heights)


def _memory_path(roof: Roof, highest: float, across: _Axis, up: _Axis) -> str:
    """From the lower or left edge up to where the fastest instructions are the limit."""
    start = max(across.ticks[0], up.ticks[0] / roof.rate)
    end = min(highest / roof.rate, across.ticks[-1])
    return f"M{across(start):.1f} {up(start * roof.rate):.1f}L{across(end):.1f} {up(end * roof.rate):.1f}"


def _compute_path(roof: Roof, memory: Sequence[Roof], across: _Axis, up: _Axis) -> str:
    """From where the fastest memory is the limit."""
    fastest = max((each.rate for each in memory), default=roof.rate / across.ticks[0])
    start = max(across.ticks[0], roof.rate / fastest)
    return f"M{across(start):.1f} {up(roof.rate):.1f}H{across.end:.1f}"


def _draw_axes(across: _Axis, up: _Axis, width: int, bottom: float) -> str:
    grid = "".join(f"M{AXIS_WIDTH} {up(tick):.1f}H{across.end:.1f}" for tick in up.ticks)
    grid += "".join(f"M{across(tick):.1f} {up.end:.1f}V{up.start:.1f}" for tick in across.ticks)
    heights = "".join(
        f'<text x="{AXIS_WIDTH - 6}" y="{up(tick) + 3.5:.1f}" font-size="10" text-anchor="end">{tick:,g}</text>'
        for tick in up.ticks
    )
    places = "".join(
        f'<text x="{across(tick):.1f}" y="{bottom + 16:g}" font-size="10" text-anchor="middle">{tick:,g}</text>'
        for tick in across.ticks
    )
    name = f'<text x="{width / 2:g}" y="{bottom + 32:g}" text-anchor="middle">operations per byte</text>'
    return f'<path d="{grid}" stroke="currentColor" opacity="0.2" fill="none"/>{heights}{places}{name}'


def _draw_dot(dot: Dot, across: _Axis, up: _Axis) -> str:
    radius = max(_SMALLEST, _LARGEST * math.sqrt(dot.weight))
    fill = category_colour(dot.category).fill
    return (
        f'<circle cx="{across(dot.x):.1f}" cy="{up(dot.y):.1f}" r="{radius:.1f}" fill="{fill}" fill-opacity="0.7" '
        f'stroke="currentColor" stroke-width="0.6"><title>{safe(dot.hint)}</title></circle>'
    )


def _three(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 99.5 else f"{rate:.3g}"
