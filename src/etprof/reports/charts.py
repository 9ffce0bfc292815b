"""The charts of a report: one definition each, drawn at any width, and the same in HTML, SVG and PNG.

Rows carry their label above their bar, inside the drawing, so that a chart reads as well on a phone as on a desk.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from etprof.core.exploration import EXACT_DB, Choice, ChoiceRow, Standing
from etprof.core.phases import Phases
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.roofline import Roofline
from etprof.core.scaling import Scaling, ScalingCurve
from etprof.core.units import format_bytes, format_count, format_ms, format_percent
from etprof.reports.choice_tables import describe_rows, find_accuracy
from etprof.reports.memory_plot import draw_plan
from etprof.reports.memory_tables import plan_sentence
from etprof.reports.phase_charts import (
    draw_curves,
    draw_phases,
    list_curves,
    list_sides,
    phases_caption,
    steps_caption,
)
from etprof.reports.phase_tables import unit_of
from etprof.reports.plots import (
    Bar,
    Disc,
    Drawing,
    Line,
    Mark,
    Median,
    Point,
    Row,
    Title,
    draw_bars,
    draw_discs,
    draw_lines,
    draw_points,
)
from etprof.reports.roofline_plot import Dot, draw_roofline
from etprof.reports.roofline_tables import format_share, list_shown, roofline_sentence
from etprof.reports.sentences import format_change_ms, timing_mode

# One of several columns of a page, a phone, and the whole page.
WIDE, NARROW, FULL = 520, 330, 1000
_PNG_SCALE = 2
_OPERATORS_SHOWN = 10
# Points that would cover one another are drawn once: less than half a pixel apart across, one pixel down.
_CELLS_ACROSS, _CELLS_DOWN = 1600, 100
# A bar of so many pixels has room for its text.
_LABELLED_PX = 54


@dataclass(frozen=True)
class ChartFile:
    """A chart ready to be drawn: `name` is its file's stem, `caption` what it shows, in words.

    One that `is_full` takes the whole width of a page.
    """

    name: str
    caption: str
    draw: Callable[[int], Drawing]
    is_full: bool = False


def list_charts(report: Report) -> tuple[ChartFile, ...]:
    found = []
    timed = [variant for variant in report.variants if variant.samples_ms]
    if timed:
        caption = f"Every {timing_mode(timed)} iteration of each variant."
        found.append(ChartFile("latency", caption, lambda w: draw_latency(timed, w), is_full=True))
    for number, comparison in enumerate(c for c in report.comparisons if c.categories):
        found += _comparison_charts(report, comparison, f"_{number + 1}" if number else "")
    if not report.comparisons:
        traced = [variant for variant in report.measured if variant.categories]
        if traced:
            found.append(
                ChartFile(
                    "categories",
                    "Time per category in each variant.",
                    lambda w: draw_categories(traced, w, unit_of(report)),
                )
            )
    if report.choice:
        found += _choice_charts(report.choice)
    if report.phases:
        found += _phase_charts(report, report.phases)
    if report.scaling:
        found += _scaling_charts(report.scaling)
    found += _roofline_charts(report)
    found += _plan_charts(report)
    return tuple(found)


def _phase_charts(report: Report, phases: Phases) -> list[ChartFile]:
    bars = [
        ChartFile(_numbered("phases", number), phases_caption(phases, sides), partial(draw_phases, phases, sides))
        for number, sides in enumerate(list_sides(report), start=1)
    ]
    return bars + [
        ChartFile(_numbered("steps", number), steps_caption(row), partial(draw_curves, row))
        for number, row in enumerate(list_curves(report), start=1)
    ]


def _numbered(name: str, number: int) -> str:
    return f"{name}_{number}" if number > 1 else name


def _choice_charts(choice: Choice) -> list[ChartFile]:
    """The caption gives the values, for readers who do not see the points; none without anything to compare by."""
    placed = [row for row in choice.rows if row.latency_ms is not None and find_accuracy(choice, row) is not None]
    if not placed:
        return []
    front = [row for row in placed if row.standing is Standing.FRONT]
    caption = f"The front. {'; '.join(describe_rows(choice, front))}."
    return [ChartFile("pareto", caption, partial(draw_pareto, choice, placed))]


def draw_pareto(choice: Choice, rows: Sequence[ChoiceRow], width: int) -> Drawing:
    """Who is dropped is drawn as a ring."""
    ranked = sorted(rows, key=lambda row: (row.standing is not Standing.FRONT, row.latency_ms))
    largest = max((row.peak_bytes or 0 for row in rows), default=0) or 1
    discs = [
        Disc(
            x=row.latency_ms or 0.0,
            y=find_accuracy(choice, row) or 0.0,
            weight=(row.peak_bytes or 0) / largest,
            number=number if row.standing is Standing.FRONT else None,
            name=describe_rows(choice, [row])[0] + (f", {format_bytes(row.peak_bytes)}" if row.peak_bytes else ""),
        )
        for number, row in enumerate(ranked, start=1)
    ]
    title = Title("Latency against accuracy", "The front has numbers; dropped builds are rings. Area: peak memory.")
    if choice.has_random_weights:
        title = title._replace(text="Latency against numerics")
    up = "metric" if choice.eager_metric is not None else f"SNR in dB, {EXACT_DB:g} and more as one"
    return draw_discs(discs, width=width, title=title, across="latency in ms", up=up)


def _plan_charts(report: Report) -> list[ChartFile]:
    """The captions give the peak, for readers who do not see the steps; one operator is no course."""
    drawn = [plan for plan in report.plans if len(plan.live_bytes) > 1]
    return [
        ChartFile(f"activations{f'_{number}' if number > 1 else ''}", plan_sentence(plan), partial(draw_plan, plan))
        for number, plan in enumerate(drawn, start=1)
    ]


def _roofline_charts(report: Report) -> list[ChartFile]:
    """The captions say how far each variant is from its bound, for readers who do not see the points."""
    return [
        ChartFile(
            f"roofline{f'_{number}' if number > 1 else ''}",
            roofline_sentence(label, roofline),
            partial(draw_variant_roofline, label, roofline),
        )
        for number, (label, roofline) in enumerate(list_shown(report), start=1)
        if roofline.compute
    ]


def draw_variant_roofline(label: str, roofline: Roofline, width: int) -> Drawing:
    """Operators that compute nothing have no place on a logarithmic axis."""
    placed = [row for row in roofline.rows if row.operations and row.minimal_bytes]
    longest = max((row.mean_ms for row in placed), default=0.0) or 1.0
    dots = [
        Dot(
            row.intensity,
            row.gop_per_s,
            row.mean_ms / longest,
            row.category,
            f"{row.name} ({row.module_path or 'no module'}): {format_ms(row.mean_ms)}, "
            f"{format_share(row.share_of_ceiling)} of the ceiling, bound by {row.bound}",
        )
        for row in placed
    ]
    rest = len(roofline.rows) - len(placed)
    note = f" {format_count(rest, 'operator')} without arithmetic: not drawn." if rest else ""
    title = Title(f"Roofline, {label}", f"Gop/s of each operator; its area is its time.{note}")
    return draw_roofline(dots, roofline.compute, roofline.memory, width=width, title=title)


def _scaling_charts(scaling: Scaling) -> list[ChartFile]:
    """The captions give the values, for readers who do not see the lines."""
    values = "; ".join(_list_values(c, c.experiment, [point.latency_ms for point in c.points]) for c in scaling.curves)
    charts = [ChartFile("threads", f"Latency by thread count. {values}.", lambda w: draw_thread_curves(scaling, w))]
    traced = [curve for curve in scaling.curves if curve.parts]
    return charts + [
        ChartFile(
            f"threads_parts{f'_{number}' if number > 1 else ''}",
            f"Time of each part by thread count, {curve.experiment}. "
            + "; ".join(_list_values(curve, part.name, part.times_ms) for part in curve.parts)
            + ".",
            partial(draw_part_curves, curve),
        )
        for number, curve in enumerate(traced, start=1)
    ]


def _list_values(curve: ScalingCurve, name: str, times_ms: Sequence[float]) -> str:
    values = zip(curve.points, times_ms, strict=True)
    return f"{name}: " + ", ".join(f"{format_ms(time)} at {point.threads}" for point, time in values)


def _comparison_charts(report: Report, comparison: Comparison, suffix: str) -> list[ChartFile]:
    variants, unit = variants_of(report, comparison), unit_of(report)
    who = " to ".join(comparison.names)
    charts = [
        ChartFile(f"categories{suffix}", f"Time per category, {who}.", lambda w: draw_categories(variants, w, unit)),
        ChartFile(
            f"waterfall_categories{suffix}",
            f"What each category contributes to the change, {who}.",
            lambda w: draw_category_waterfall(comparison, variants, w, unit),
        ),
    ]
    if comparison.operators:
        charts.append(
            ChartFile(
                f"waterfall_operators{suffix}",
                f"What single operators contribute to the change, {who}.",
                lambda w: draw_operator_waterfall(comparison, variants, w, unit),
            )
        )
    return charts


def variants_of(report: Report, comparison: Comparison) -> list[VariantReport]:
    """Baseline, then candidate."""
    return [report.of(comparison.baseline), report.of(comparison.candidate)]


def render_png(svg: str) -> bytes:
    import vl_convert

    return vl_convert.svg_to_png(svg, scale=_PNG_SCALE)


def render_files(report: Report) -> dict[str, bytes]:
    """The charts as files, by name: an SVG and a PNG of each."""
    files = {}
    for chart in list_charts(report):
        svg = chart.draw(FULL if chart.is_full else WIDE).render()
        files[f"{chart.name}.svg"] = svg.encode()
        files[f"{chart.name}.png"] = render_png(svg)
    return files


def draw_latency(variants: Sequence[VariantReport], width: int) -> Drawing:
    """A band per variant: across is time, down is the order of the iterations, so that drift shows as a slant."""
    points: list[Point] = []
    medians: list[Median] = []
    labels: list[Row] = []
    low = min(variant.latency.min_ms for variant in variants if variant.latency)
    span = max(variant.latency.max_ms for variant in variants if variant.latency) - low
    for band, variant in enumerate(variants):
        assert variant.latency is not None  # it has samples
        samples = [sample for block in variant.samples_ms for sample in block]
        seen = set()
        for order, sample in enumerate(samples):
            y = band + 0.48 + 0.46 * order / max(len(samples) - 1, 1)
            cell = (round((sample - low) / span * _CELLS_ACROSS) if span else 0, round(y * _CELLS_DOWN))
            if cell not in seen:
                seen.add(cell)
                points.append(Point(sample, y))
        medians.append(Median(variant.latency.median_ms, band + 0.44, band + 0.98))
        count = f"n = {len(samples)} in {len(variant.samples_ms)} block{'s' if len(variant.samples_ms) != 1 else ''}"
        labels.append(Row(band, variant.label, f"median {format_ms(variant.latency.median_ms)}, {count}"))
    title = Title(f"Latency in ms, {timing_mode(variants)} iterations", "A point is an iteration, the first on top.")
    return draw_points(points, medians, labels, width=width, title=title)


def draw_categories(variants: Sequence[VariantReport], width: int, unit: str = "inference") -> Drawing:
    """Two bars per variant: milliseconds to one scale, and percent."""
    whole = max(sum(row.mean_ms for row in variant.categories) for variant in variants)
    bars: list[Bar] = []
    labels: list[Row] = []
    for number, variant in enumerate(variants):
        total = sum(row.mean_ms for row in variant.categories)
        labels.append(Row(2 * number, variant.label, format_ms(total)))
        labels.append(Row(2 * number + 1, "the same in percent", ""))
        for scale, unit_row in ((1 / whole, 0), (1 / total if total else 0, 1)):
            at = 0.0
            for row in variant.categories:
                length = row.mean_ms * scale
                text = format_ms(row.mean_ms) if unit_row == 0 else format_percent(row.share, 0)
                wide_enough = length * width > _LABELLED_PX
                bars.append(Bar(2 * number + unit_row, row.name, at, at + length, text if wide_enough else ""))
                at += length
    subtitle = f"ms and percent per {unit}, {_traced(variants, unit)}."
    title = Title("Where the time goes", subtitle)
    return draw_bars(bars, labels, width=width, title=title, unit=None)


def draw_thread_curves(scaling: Scaling, width: int) -> Drawing:
    lines = []
    for curve in scaling.curves:
        ends = [(p, p.latency.low if p.latency else p.latency_ms, p.latency.high if p.latency else p.latency_ms)
                for p in curve.points]  # fmt: skip
        lines.append(Line(curve.experiment, tuple(Mark(p.threads, p.latency_ms, low, high) for p, low, high in ends)))
    title = Title("Latency in ms by thread count", "A bar is a 95 % interval; lower is faster.")
    return draw_lines(lines, width=width, title=title, across="threads")


def draw_part_curves(curve: ScalingCurve, width: int) -> Drawing:
    """What does not shrink from count to count is what stops scaling."""
    counts = [point.threads for point in curve.points]
    lines = [
        Line(part.name, tuple(Mark(n, time, time, time) for n, time in zip(counts, part.times_ms, strict=True)))
        for part in curve.parts
    ]
    title = Title("Where the time goes by thread count", f"ms per traced inference, {curve.experiment}.")
    return draw_lines(lines, width=width, title=title, across="threads")


def draw_category_waterfall(
    comparison: Comparison, variants: Sequence[VariantReport], width: int, unit: str = "inference"
) -> Drawing:
    steps = [(shift.name, shift.name, shift.candidate_ms - shift.baseline_ms) for shift in comparison.categories]
    title = Title("From baseline to candidate, by category", f"ms per {unit}, {_traced(variants, unit)}.")
    return _draw_waterfall(comparison, steps, width, title)


def draw_operator_waterfall(
    comparison: Comparison, variants: Sequence[VariantReport], width: int, unit: str = "inference"
) -> Drawing:
    """The operators with the largest changes, then all the others and what no operator owns as one step each.

    Operators of one name are told apart by their ids, which the table of operators has.
    """
    changed = [change for change in comparison.operators if change.gain_ms]
    ranked = sorted(changed, key=lambda change: -abs(change.gain_ms))
    shown = sorted(ranked[:_OPERATORS_SHOWN], key=lambda change: -change.gain_ms)
    alike = Counter(change.name for change in shown)
    steps = [
        (f"{change.name}, {change.identity}" if alike[change.name] > 1 else change.name, change.category,
         -change.gain_ms)
        for change in shown
    ]  # fmt: skip
    others = ranked[_OPERATORS_SHOWN:]
    if others:
        steps.append((f"{len(others)} other operators that changed", "", -sum(change.gain_ms for change in others)))
    whole = sum(shift.candidate_ms - shift.baseline_ms for shift in comparison.categories)
    rest = whole - sum(change for _, _, change in steps)
    steps.append(("delegate and framework overhead", "Delegate overhead", rest))
    title = Title("From baseline to candidate, by operator", f"ms per {unit}, {_traced(variants, unit)}.")
    return _draw_waterfall(comparison, steps, width, title)


def _draw_waterfall(
    comparison: Comparison, steps: Sequence[tuple[str, str, float]], width: int, title: Title
) -> Drawing:
    before = sum(shift.baseline_ms for shift in comparison.categories)
    after = sum(shift.candidate_ms for shift in comparison.categories)
    rows = [Row(0, comparison.names[0], format_ms(before))]
    bars = [Bar(0, "", 0.0, before, "")]
    at = before
    for number, (name, category, change) in enumerate(steps, start=1):
        rows.append(Row(number, name, format_change_ms(change)))
        bars.append(Bar(number, category, min(at, at + change), max(at, at + change), ""))
        at += change
    rows.append(Row(len(steps) + 1, comparison.names[1], format_ms(after)))
    bars.append(Bar(len(steps) + 1, "", 0.0, after, ""))
    return draw_bars(bars, rows, width=width, title=title, unit="ms")


def _traced(variants: Sequence[VariantReport], unit: str) -> str:
    counts = " and ".join(str(variant.accounting.runs) for variant in variants if variant.accounting)
    return f"mean of {counts} traced {unit}s"
