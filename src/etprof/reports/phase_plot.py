"""Steps of a phase as lines over their number, a band around each from the lowest block to the highest."""

from collections.abc import Sequence

from etprof.reports.palette import LINES
from etprof.reports.plots import (
    AXIS_WIDTH,
    LINES_HEIGHT,
    MARGIN,
    PIXELS_PER_LETTER,
    Drawing,
    Line,
    Scale,
    Title,
    draw_heights,
    draw_title,
    round_outwards,
    safe,
    shorten,
)

# One disturbed step of one block would press all lines to the ground.
_MOST_BAND = 1.3


def draw_steps(lines: Sequence[Line], *, width: int, title: Title, across: str) -> Drawing:
    """Values from zero on, so that a slope looks as large as it is; a band that goes far beyond its line is cut off."""
    numbers = [mark.x for line in lines for mark in line.marks]
    largest = max(mark.value for line in lines for mark in line.marks)
    reached = max(mark.high for line in lines for mark in line.marks)
    heights = round_outwards(Scale(0.0, min(reached, _MOST_BAND * largest), LINES_HEIGHT))
    places = Scale(min(numbers), max(numbers), width - AXIS_WIDTH)
    head, top = draw_title(title, width)
    bottom = top + LINES_HEIGHT

    def x(number: float) -> float:
        return AXIS_WIDTH + places(number)

    def y(value: float) -> float:
        return bottom - min(value / heights.high, 1.0) * LINES_HEIGHT

    parts = [head, draw_heights(heights, y, width)]
    # Steps are counted: there is no tick between two of them.
    parts += [
        f'<text x="{x(tick):.1f}" y="{bottom + 16:g}" font-size="10" text-anchor="middle">{tick:.0f}</text>'
        for tick in places.ticks
        if float(tick).is_integer()
    ]
    parts.append(f'<text x="{width / 2:g}" y="{bottom + 32:g}" text-anchor="middle">{safe(across)}</text>')
    at = bottom + 50.0
    for number, line in enumerate(lines):
        colour, dashes = LINES[number % len(LINES)]
        there = "L".join(f"{x(mark.x):.1f} {y(mark.low):.1f}" for mark in line.marks)
        back = "L".join(f"{x(mark.x):.1f} {y(mark.high):.1f}" for mark in reversed(line.marks))
        path = "L".join(f"{x(mark.x):.1f} {y(mark.value):.1f}" for mark in line.marks)
        stroke = f'stroke="{colour}" stroke-width="2" fill="none"'
        dashed = f'{stroke} stroke-dasharray="{dashes}"' if dashes else stroke
        parts.append(f'<path d="M{there}L{back}Z" fill="{colour}" opacity="0.18"/><path d="M{path}" {dashed}/>')
        parts.append(f'<path d="M{MARGIN} {at - 4:g}h30" {dashed}/>')
        room = int((width - MARGIN - 40) / PIXELS_PER_LETTER)
        parts.append(f'<text x="{MARGIN + 38}" y="{at:g}">{safe(shorten(line.name, room))}</text>')
        at += 17
    return Drawing(width, at, "".join(parts), lines=tuple(lines))
