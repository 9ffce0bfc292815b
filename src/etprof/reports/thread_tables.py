"""The thread counts of a run in words and tables, the same in every format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from etprof.core.estimates import Interval, Verdict
from etprof.core.run import SmeUnits
from etprof.core.scaling import Crossover, Scaling, ScalingCurve, StepEffect, ThreadPoint
from etprof.core.units import format_count, format_ms, format_percent, format_ratio
from etprof.reports.text_table import Column, TextTable

_BAR = 14


@dataclass(frozen=True)
class ThreadTable:
    """`speeds` has the speed of each row, where that is what the table is about.

    Of the columns between `kept` at the start and `kept` at the end a narrow terminal shows as many as fit.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    speeds: tuple[float, ...] = ()
    kept: int = 2


def list_answers(scaling: Scaling) -> Iterator[str]:
    """The best count, where scaling ends, what stops it, and where an extension stops paying."""
    for curve in scaling.curves:
        yield f"{curve.experiment}: {_best(curve)}"
        yield f"{curve.experiment}: {_limit(curve)}"
        if reason := _reason(curve):
            yield f"{curve.experiment}: {reason}"
    yield from (_crossover(each) for each in scaling.crossovers)


def list_all(scaling: Scaling) -> list[str]:
    """The answers, and what they rest on."""
    return [*list_answers(scaling), correction_sentence(scaling), cores_sentence(scaling)]


def correction_sentence(scaling: Scaling) -> str:
    return (
        f"Verdicts and intervals of {format_count(scaling.comparisons, 'comparison')} hold together with "
        f"{format_percent(scaling.confidence, 0)} confidence (Holm's correction)."
    )


def cores_sentence(scaling: Scaling) -> str:
    """What thread counts can be measured against."""
    facts = [f"Usable cores: {scaling.usable_cores}"]
    facts += [f"performance cores: {scaling.performance_cores}"] if scaling.performance_cores else []
    facts += [_units(scaling.sme_units)] if scaling.sme_units else []
    return "; ".join(facts) + "."


def build_thread_tables(scaling: Scaling) -> list[ThreadTable]:
    tables = [_curve_table(curve) for curve in scaling.curves]
    tables += [_part_table(curve) for curve in scaling.curves if curve.parts]
    return tables + [_crossover_table(each) for each in scaling.crossovers]


def as_text_table(table: ThreadTable) -> TextTable:
    """For a terminal: where it is about speed, each row has a bar as long as its speed."""
    ends = len(table.headings) - table.kept
    columns = [
        Column(heading, [row[place] for row in table.rows], int(table.kept <= place < ends), right=place > 0)
        for place, heading in enumerate(table.headings)
    ]
    if table.speeds:
        longest = max(table.speeds)
        columns.append(Column("speed", ["#" * max(round(_BAR * speed / longest), 1) for speed in table.speeds], 2))
    return TextTable(table.title, columns)


def _curve_table(curve: ScalingCurve) -> ThreadTable:
    effects = {step.more: step.effect.value for step in curve.steps}
    return ThreadTable(
        title=f"Threads of {curve.experiment}",
        headings=("threads", "latency", "speed-up", "efficiency", "this step"),
        rows=tuple(
            (
                str(point.threads),
                format_ms(point.latency_ms),
                _ratios(point.speedup) if point.speedup else "",
                format_percent(point.efficiency.value, 0) if point.efficiency else "",
                effects.get(point.threads, ""),
            )
            for point in curve.points
        ),
        speeds=tuple(1 / point.latency_ms for point in curve.points),
    )


def _part_table(curve: ScalingCurve) -> ThreadTable:
    return ThreadTable(
        title=f"Where the time of {curve.experiment} goes by thread count (traced)",
        headings=("part", *(_threads(point.threads) for point in curve.points), "serial share"),
        rows=tuple(
            (part.name, *map(format_ms, part.times_ms), _percents(part.serial_share) if curve.fitted_to else "unknown")
            for part in curve.parts
        ),
    )


def _crossover_table(crossover: Crossover) -> ThreadTable:
    return ThreadTable(
        title=f"{crossover.candidate} against {crossover.baseline}",
        headings=("threads", "speed-up", "verdict"),
        rows=tuple((str(each.threads), _ratios(each.speedup), each.verdict.value) for each in crossover.counts),
    )


def _best(curve: ScalingCurve) -> str:
    point, fewest = curve.point(curve.best), curve.points[0].threads
    if curve.undecided:
        counts = _listed(sorted({curve.best, *curve.undecided}), "or")
        return f"the best thread count is inconclusive: {counts}."
    says = f"{_threads(curve.best)} {'is' if curve.best == 1 else 'are'} best, {format_ms(point.latency_ms)}"
    return f"{says}: {_against(point, fewest)}." if point.speedup else f"{says}; more threads are not faster."


def _against(point: ThreadPoint, fewest: int) -> str:
    efficiency = f", efficiency {_percents(point.efficiency)}" if point.efficiency else ""
    return f"{_ratios(point.speedup)} the speed of {_threads(fewest)}{efficiency}"


def _limit(curve: ScalingCurve) -> str:
    step = curve.limit
    if step is None:
        return f"every step up to {_threads(curve.points[-1].threads)} gains."
    if step.effect is StepEffect.INCONCLUSIVE:
        interval = f": speed-up {_ratios(step.speedup)}" if step.speedup else ": too few blocks"
        return f"whether the step from {step.fewer} to {_threads(step.more)} gains is inconclusive{interval}."
    speed = f"{_threads(step.more)} run at {_ratios(step.speedup)} the speed of {step.fewer}"
    return f"beyond {_threads(step.fewer)} a step {step.effect.value}: {speed}."


def _reason(curve: ScalingCurve) -> str:
    """What stops scaling, as far as traces and Amdahl's law tell; empty where neither does."""
    said = []
    if curve.limiting_part:
        said.append(f"{curve.limiting_part} loses most time against ideal scaling")
    elif curve.parts:
        said.append("which part loses most time against ideal scaling is inconclusive")
    if curve.fitted_to is not None:
        said.append(f"serial share {_percents(curve.serial_share)}, fitted up to {_threads(curve.fitted_to)}")
    return "; ".join(said) + "." if said else ""


def _crossover(crossover: Crossover) -> str:
    baseline, candidate = crossover.baseline, crossover.candidate
    unclear = f"at {_listed(crossover.undecided, 'and')} " if crossover.undecided else ""
    if crossover.threads is None:
        if unclear:
            return f"Whether {baseline} is faster than {candidate} {unclear}is inconclusive."
        return f"{baseline} is faster than {candidate} at none of these thread counts."
    lost = {each.threads: each.speedup for each in crossover.counts if each.verdict is Verdict.SLOWER}
    rest = f" Whether it is {unclear}is inconclusive." if unclear else ""
    where = f"; at {_threads(crossover.threads)}" if len(lost) > 1 else ", where"
    speed = f"the speed-up of {candidate} is {_ratios(lost[crossover.threads])}"
    return f"{baseline} is faster than {candidate} at {_listed(list(lost), 'and')}{where} {speed}.{rest}"


def _units(units: SmeUnits) -> str:
    kind = "shared" if units.is_shared else "one for each core"
    return f"SME units: {units.count}, {kind}{', assumed from the name of the chip' if units.assumed_from else ''}"


def _ratios(interval: Interval | None) -> str:
    if interval is None:
        return "inconclusive"
    return f"{format_ratio(interval.value)} ({format_ratio(interval.low)} to {format_ratio(interval.high)})"


def _percents(interval: Interval | None) -> str:
    if interval is None:
        return "inconclusive"
    value, low, high = (format_percent(each, 0) for each in (interval.value, interval.low, interval.high))
    return f"{value} ({low} to {high})"


def _threads(count: int) -> str:
    return format_count(count, "thread")


def _listed(counts: Sequence[int], word: str) -> str:
    *first, last = map(str, counts)
    return f"{', '.join(first)} {word} {_threads(int(last))}" if first else _threads(int(last))
