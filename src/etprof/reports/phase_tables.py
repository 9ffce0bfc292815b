"""The phases of a workload in words and tables, the same in every format."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from etprof.core.categories import COMPUTE
from etprof.core.estimates import Interval, Verdict
from etprof.core.phases import CurveShape, PhaseComparison, PhaseResult, Phases, PhaseVariant, StepCurve
from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.core.units import (
    NS_PER_US,
    format_count,
    format_ms,
    format_percent,
    format_ratio,
)
from etprof.reports.text_table import Column, TextTable

_HEADINGS = ("phase", "steps", "step", "interval", "in a sequence", "share", "speed-up", "verdict")
_WORDS = ("phase", "verdict")
# What a narrow terminal leaves out first has the largest number.
_IMPORTANCE = {"steps": 3, "interval": 5, "in a sequence": 1, "share": 4, "verdict": 2}
_MOST_CATEGORIES = 5
_MOST_OPERATORS = 10
# Sentences and pictures for so many phases, those that take the most time; tables have all of them.
MOST_PHASES = 8
_GAPS = "between steps"
EXPLAINED = (
    "A sequence is all phases once, and what latencies are of. Times of a step are medians; what a phase takes of a "
    "sequence is the mean, so that the phases and the time between steps add up to the whole."
)


class PhaseTable(NamedTuple):
    """`left_out` is how many rows are not shown."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


def unit_of(report: Report) -> str:
    """What times are of where the time goes: an inference, or a sequence of a workload."""
    return "sequence" if report.phases else "inference"


def rank_phases(phases: Phases) -> list[PhaseResult]:
    """Those that take the most time of a sequence, in their order; whole sequences are left aside."""
    rows = [row for row in phases.rows if not row.is_whole]
    longest = sorted(rows, key=lambda row: -max((each.mean_ms or 0.0 for each in row.variants), default=0.0))
    chosen = longest[:MOST_PHASES]
    return [row for row in rows if row in chosen]


def list_all(report: Report) -> list[str]:
    """The answers, and what they rest on."""
    if report.phases is None:
        return []
    return [*list_answers(report), *filter(None, [correction_sentence(report.phases)])]


def list_answers(report: Report) -> Iterator[str]:
    """The verdict on each phase, whether its steps slow down, what lies between them, and which kernels they ran."""
    if report.phases is None:
        return
    phases, name = rank_phases(report.phases), _namer(report)
    titles = {(each.baseline, each.candidate): each.title for each in report.comparisons}
    for row in phases if report.times_are_real else ():
        for pair in row.comparisons:
            yield f"{row.name}, {titles[pair.baseline, pair.candidate]}: {_verdict(pair)}"
    for row in phases:
        yield from (curve_sentence(row, each, name(each.variant)) for each in row.variants if each.curve)
    for row in report.phases.rows:
        yield from (said for each in row.variants if (said := _gaps_sentence(row, each, name(each.variant))))
    yield from list_kernels(report)
    rest = sum(not row.is_whole for row in report.phases.rows) - len(phases)
    if rest:
        yield f"{format_count(rest, 'phase')} more, with less time: see the table."


def list_kernels(report: Report) -> Iterator[str]:
    """Which kernels executed in each phase; nothing of variants that the extension was hidden from."""
    name = _namer(report)
    for row in rank_phases(report.phases) if report.phases else ():
        for each in row.variants:
            if each.kernels and each.kernels.shown is not False:
                yield f"{row.name}, {name(each.variant)}: {each.kernels.verdict}"


def kernels_sentence(report: Report, most: int) -> str:
    """Whether the extension executed, by the intervals, and its part of the samples in each of the first phases."""
    extension, shares, verdicts = "", [], []
    for row in rank_phases(report.phases)[:most] if report.phases else ():
        found = next((v.kernels for v in row.variants if v.kernels and v.kernels.shown is not False), None)
        if found:
            extension = found.extension
            shares.append(f"{row.name} {format_percent(found.share.value) if found.share else 'unknown'}")
            verdicts.append(found.verdict)
    if not shares:
        return ""
    # In one phase is executed; in none only if each of them says so.
    none = "no" if all("executed: no," in verdict for verdict in verdicts) else "unknown"
    answer = "yes" if any("executed: yes," in verdict for verdict in verdicts) else none
    return f"{extension} executed: {answer}; in {' and '.join(COMPUTE)}: {', '.join(shares)} of the samples."


def _namer(report: Report) -> Callable[[Variant], str]:
    """What tells variants apart: the thread count only where there are several."""
    several = len({variant.threads for variant in report.variants}) > 1
    return lambda variant: variant.label if several else variant.experiment


def correction_sentence(phases: Phases) -> str:
    """How sure several verdicts, or several curves, are together; empty where each stands alone."""
    parts = [(phases.comparisons, "comparison", "verdicts"), (phases.curves, "curve", "changes from step to step")]
    said = [f"{what} of {format_count(count, noun)}" for count, noun, what in parts if count > 1]
    if not said:
        return ""
    text = f"{' and '.join(said)} hold together with {format_percent(phases.confidence, 0)} confidence each"
    return f"{text[0].upper()}{text[1:]} (Holm's correction)."


def _verdict(comparison: PhaseComparison) -> str:
    if comparison.speedup is None:
        return f"{comparison.verdict.value}; {comparison.reason}."
    numbers = f"{comparison.verdict.value}, speed-up {_ratios(comparison.speedup)}"
    is_decided = comparison.verdict in (Verdict.FASTER, Verdict.SLOWER)
    return f"{numbers}." if is_decided else f"{numbers}; {comparison.reason}."


def curve_sentence(row: PhaseResult, each: PhaseVariant, name: str) -> str:
    """Whether steps take longer as the sequence goes on, with the slope and its interval."""
    curve = each.curve
    assert curve is not None  # the caller has seen to it
    who = f"{row.name}, {name}"
    if curve.growth is None:
        return f"{who}: whether steps slow down is inconclusive; {curve.reason}."
    change = f"{_signed(curve.growth.value)} over {row.steps} steps, by the median slope between them"
    bounds = f"{format_percent(curve.growth.confidence, 0)} interval {_signed(curve.growth.low)} to "
    numbers = f"{change} ({bounds}{_signed(curve.growth.high)}{_slope(curve)})"
    if curve.shape is CurveShape.INCONCLUSIVE:
        return f"{who}: whether steps slow down is inconclusive: {numbers}; {curve.reason}."
    words = {
        CurveShape.GROWS: "steps slow down",
        CurveShape.FALLS: "steps become faster",
        CurveShape.CONSTANT: "steps do not slow down",
    }
    return f"{who}: {words[curve.shape]}: {numbers}."


def _slope(curve: StepCurve) -> str:
    if curve.slope_ns is None:
        return ""
    slope = curve.slope_ns.value
    size = f"{abs(slope) / NS_PER_US:.3g} us" if abs(slope) >= NS_PER_US else f"{abs(slope):.3g} ns"
    return f"; {'more' if slope > 0 else 'less'} by {size} with each step" if slope else ""


def _gaps_sentence(row: PhaseResult, each: PhaseVariant, name: str) -> str:
    if each.gaps_ms is None or not each.mean_ms:
        return ""
    share = format_percent(each.gaps_ms / each.mean_ms)
    return f"{name}: {format_ms(each.gaps_ms)} ({share}) of a sequence lie between its {row.steps} steps."


def build_table(report: Report, most: int | None = None) -> PhaseTable:
    """A row for each phase of each variant; those of a variant add up to its sequence, with the time between steps."""
    phases = report.phases
    assert phases is not None  # a report without phases has no such table
    shown = phases.rows if report.times_are_real else ()
    if most is not None and sum(not row.is_whole for row in shown) > most:
        longest = rank_phases(phases)
        shown = tuple(row for row in shown if row.is_whole or row in longest)
    rows: list[tuple[str, ...]] = []
    name = _namer(report)
    for result in shown:
        for each in _measured(report, result):
            if result.is_whole and each.gaps_ms is not None and each.mean_ms:
                share = format_percent(each.gaps_ms / each.mean_ms)
                rows.append((f"{_GAPS}, {name(each.variant)}", "", "", "", format_ms(each.gaps_ms), share, "", ""))
            rows.append((f"{result.name}, {name(each.variant)}", *_build_cells(result, each)))
    left_out = len(phases.rows) - len(shown)
    return PhaseTable("Phases", _HEADINGS, tuple(rows), left_out)


def _measured(report: Report, row: PhaseResult) -> list[PhaseVariant]:
    """Without variants that were only sampled, as elsewhere."""
    wanted = {variant.variant for variant in report.measured}
    return [each for each in row.variants if each.variant in wanted]


def _build_cells(result: PhaseResult, each: PhaseVariant) -> tuple[str, ...]:
    """A candidate of several pairs has its first one here; all of them are among the sentences."""
    first = next((pair for pair in result.comparisons if pair.candidate == each.variant), None)
    return (
        str(result.steps),
        _time(each.step_ms),
        f"{format_ms(each.step.low)} to {format_ms(each.step.high)}" if each.step else "",
        _time(each.mean_ms),
        format_percent(each.share) if each.share is not None else "",
        _ratios(first.speedup) if first and first.speedup else "",
        first.verdict.value if first else "",
    )


def as_text_table(table: PhaseTable) -> TextTable:
    columns = zip(table.headings, zip(*table.rows, strict=True), strict=True)
    return TextTable(
        table.title,
        [
            Column(heading, cells, _IMPORTANCE.get(heading, 0), right=heading not in _WORDS)
            for heading, cells in columns
        ],
        more="a wider terminal shows all",
    )


def build_category_table(report: Report) -> PhaseTable | None:
    """Where the traced time of each phase goes, per step; None without traces."""
    phases = report.phases
    assert phases is not None  # a report without phases has no such table
    traced = [(row, each) for row in phases.rows for each in _measured(report, row) if each.categories]
    if not traced:
        return None
    totals: dict[str, float] = {}
    for row, each in traced:
        for part in each.categories:
            totals[part.name] = totals.get(part.name, 0.0) + (part.mean_ms if row.is_whole else 0.0)
    names = sorted((name for name, total in totals.items() if total), key=lambda name: -totals[name])
    shown = [name for name in totals if name in names[:_MOST_CATEGORIES]]
    lines, label = [], _namer(report)
    for row, each in traced:
        known = {part.name: part for part in each.categories}
        cells = [
            f"{format_ms(known[n].mean_ms)}, {format_percent(known[n].share, 0)}" if n in known else "" for n in shown
        ]
        rest = sum(part.mean_ms for name, part in known.items() if name not in shown)
        lines.append((f"{row.name}, {label(each.variant)}", *cells, format_ms(rest)))
    title = "Where the time of a step goes, traced; of the whole sequence, per sequence"
    return PhaseTable(title, ("phase", *shown, "everything else"), tuple(lines))


def list_operator_tables(report: Report) -> Iterator[PhaseTable]:
    """The slowest operators of each phase in the variants that are to be improved."""
    wanted = [variant.variant for variant in report.to_improve]
    for row in rank_phases(report.phases) if report.phases else ():
        for each in row.variants:
            if each.variant in wanted and each.operators:
                yield _operator_table(row, each)


def _operator_table(row: PhaseResult, each: PhaseVariant) -> PhaseTable:
    shown = each.operators[:_MOST_OPERATORS]
    has_kernels = any(operator.kernels for operator in shown)
    lines = tuple(
        (
            operator.name,
            str(operator.identity),
            operator.category,
            *((", ".join(dict.fromkeys(k.instruction_class for k in operator.kernels)),) if has_kernels else ()),
            format_ms(operator.mean_ms),
            format_percent(operator.share),
        )
        for operator in shown
    )
    headings = ("operator", "id", "category", *(("kernels",) if has_kernels else ()), "time of a step", "share")
    title = f"Operators of {row.name}, {each.variant.label}"
    return PhaseTable(title, headings, lines, len(each.operators) - len(shown))


def list_first(report: Report, sides: Sequence[Variant], most: int) -> list[tuple[str, ...]]:
    """For the first screen: phases with a step of each side, and the speed-up where there are two.

    Its verdict is said where it is not faster, which the interval shows by itself.
    """
    if report.phases is None:
        return []
    lines = []
    for row in rank_phases(report.phases)[:most]:
        found = [row.find(side) for side in sides]
        times = [_time(each.step_ms) if each else "" for each in found]
        compared = [c for c in row.comparisons if (c.baseline, c.candidate) == tuple(sides)]
        lines.append((row.name, *times, *map(_tell_speedup, compared)))
    return lines


def _tell_speedup(comparison: PhaseComparison) -> str:
    said = _ratios(comparison.speedup) if comparison.speedup else ""
    return said if comparison.verdict is Verdict.FASTER else f"{said} {comparison.verdict.value}".strip()


def _time(value_ms: float | None) -> str:
    return format_ms(value_ms) if value_ms is not None else ""


def _ratios(interval: Interval | None) -> str:
    if interval is None:
        return "inconclusive"
    return f"{format_ratio(interval.value)} ({format_ratio(interval.low)} to {format_ratio(interval.high)})"


def _signed(share: float) -> str:
    text = format_percent(abs(share))
    if text == format_percent(0.0):
        return text
    return ("+" if share > 0 else "\u2212") + text
