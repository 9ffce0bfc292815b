"""The charts of a workload: its phases side by side, and the time of each step of a phase."""

from collections.abc import Iterator, Sequence

from etprof.core.phases import PhaseResult, Phases, PhaseVariant
from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.core.units import format_ms
from etprof.reports.phase_plot import draw_steps
from etprof.reports.phase_tables import rank_phases
from etprof.reports.plots import Bar, Drawing, Line, Mark, Row, Title, draw_bars

# More bars, or lines, than this are no picture any more.
_MOST_SIDES = 4
_MOST_CURVES = 4


def list_sides(report: Report) -> Iterator[tuple[Variant, ...]]:
    """The two variants of each comparison, or the measured ones where nothing is compared; those with times only."""
    rows = report.phases.rows if report.phases else ()
    timed = {each.variant for row in rows for each in row.variants if each.mean_ms}
    if not report.comparisons:
        alone = tuple(each.variant for each in report.measured if each.variant in timed)
        yield from (alone[:_MOST_SIDES],) if alone else ()
    for comparison in report.comparisons:
        sides = (comparison.baseline, comparison.candidate)
        if timed.issuperset(sides):
            yield sides


def list_curves(report: Report) -> list[PhaseResult]:
    """Phases with a curve to draw, those that take the most time."""
    rows = rank_phases(report.phases) if report.phases else []
    return [row for row in rows if any(each.curve for each in row.variants)][:_MOST_CURVES]


def phases_caption(phases: Phases, sides: Sequence[Variant]) -> str:
    """With the values, for readers who do not see the bars."""
    said = [
        f"{row.name}, {each.variant.label}: {format_ms(each.mean_ms or 0.0)}"
        for row in rank_phases(phases)
        for each in _chosen(row, sides)
    ]
    return f"What each phase takes of a sequence, untraced: {'; '.join(said)}."


def steps_caption(row: PhaseResult) -> str:
    ends = [
        f"{each.variant.label}: {format_ms(times[0])} at the first, {format_ms(times[-1])} at the last"
        for each in _drawn(row)
        if (times := each.curve.median_ms if each.curve else ())
    ]
    return f"Time per step of {row.name}, {row.steps} steps. {'; '.join(ends)}."


def draw_phases(phases: Phases, sides: Sequence[Variant], width: int) -> Drawing:
    """A bar for each phase and side, divided as the traced time of its steps is."""
    bars: list[Bar] = []
    labels: list[Row] = []
    for row in rank_phases(phases):
        for each in _chosen(row, sides):
            number, whole = len(labels), each.mean_ms or 0.0
            labels.append(Row(number, f"{row.name}, {each.variant.label}", format_ms(whole)))
            bars += list(_divide(number, each, whole))
    divided = any(bar.category for bar in bars)
    subtitle = "untraced, divided as the traced steps are." if divided else "untraced."
    return draw_bars(bars, labels, width=width, title=Title("Phases", f"ms per sequence, {subtitle}"), unit="ms")


def _divide(number: int, each: PhaseVariant, whole: float) -> Iterator[Bar]:
    if not each.categories:
        yield Bar(number, "", 0.0, whole, "")
    at = 0.0
    for part in (part for part in each.categories if part.share > 0):
        yield Bar(number, part.name, at, at + part.share * whole, "")
        at += part.share * whole


def draw_curves(row: PhaseResult, width: int) -> Drawing:
    lines = []
    for each in _drawn(row):
        assert each.curve is not None  # it is drawn for its curve
        curve = each.curve
        values = zip(curve.first_steps, curve.median_ms, curve.low_ms, curve.high_ms, strict=True)
        marks = tuple(Mark(step + 1, value, low, high) for step, value, low, high in values)
        lines.append(Line(each.variant.label, marks))
    title = Title(
        f"Time per step in ms, {row.name}", "Median of the blocks; the band reaches from the lowest to the highest."
    )
    return draw_steps(lines, width=width, title=title, across="step")


def _chosen(row: PhaseResult, sides: Sequence[Variant]) -> list[PhaseVariant]:
    return [each for side in sides if (each := row.find(side)) and each.mean_ms]


def _drawn(row: PhaseResult) -> list[PhaseVariant]:
    return [each for each in row.variants if each.curve][:_MOST_SIDES]
