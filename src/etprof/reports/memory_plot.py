"""The activation plan as a plot: bytes that are alive while each operator runs, as steps from zero on."""

from etprof.core.memory import ActivationPlan
from etprof.reports.palette import LINES
from etprof.reports.plots import (
    AXIS_WIDTH,
    LINES_HEIGHT,
    MARGIN,
    Drawing,
    Point,
    Scale,
    Title,
    draw_heights,
    draw_title,
    round_outwards,
    safe,
)

_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))
# More steps than pixels cannot be seen: of neighbours, the highest is drawn.
_MOST_STEPS = 800


def draw_plan(plan: ActivationPlan, width: int) -> Drawing:
    unit, size = next((each for each in _UNITS if plan.peak_bytes >= each[1]), _UNITS[-1])
    values = _thin_out([live / size for live in plan.live_bytes])
    scale = round_outwards(Scale(0.0, max(values) or 1.0, LINES_HEIGHT))
    title = Title(
        "Planned activations", f"Bytes alive while each operator runs, in {unit}; {plan.model}, {plan.method}"
    )
    head, top = draw_title(title, width)
    bottom = top + LINES_HEIGHT
    room = width - AXIS_WIDTH - MARGIN

    def x(number: float) -> float:
        return AXIS_WIDTH + number / len(values) * room

    def y(value: float) -> float:
        return bottom - value / scale.high * LINES_HEIGHT

    steps = "".join(f"L{x(n):.1f} {y(value):.1f}H{x(n + 1):.1f}" for n, value in enumerate(values))
    colour = LINES[0][0]
    parts = [
        head,
        draw_heights(scale, y, width),
        f'<path d="M{x(0):.1f} {bottom:.1f}{steps}V{bottom:.1f}Z" fill="{colour}" fill-opacity="0.35" '
        f'stroke="{colour}" stroke-width="1.5"/>',
        f'<text x="{width / 2:g}" y="{bottom + 20:g}" text-anchor="middle">{safe("operators in order")}</text>',
    ]
    points = tuple(Point(value, number) for number, value in enumerate(values))
    return Drawing(width, bottom + 30, "".join(parts), points=points)


def _thin_out(values: list[float]) -> list[float]:
    each = -(-len(values) // _MOST_STEPS)
    return [max(values[start : start + each]) for start in range(0, len(values), each)]
