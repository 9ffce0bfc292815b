"""What a reader sees first: what was compared and on what, the verdict, the latencies, the time, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from etprof.core.exploration import Standing
from etprof.core.report import Comparison, NextStep, Report, VariantReport
from etprof.core.units import format_ms, format_percent
from etprof.reports import phase_tables, sample_places, sentences

# More would push the rest off the screen; all of them have their sections below.
_COMPARISONS, _LATENCIES, _BARS, _STEPS, _PHASES = 3, 4, 2, 3, 4


class BarPart(NamedTuple):
    """`percent` is that of the longest bar."""

    category: str
    percent: float
    time: str
    share: str


@dataclass(frozen=True)
class TimeBar:
    """Where the time of one variant goes; `name` is what tells it from the other bar."""

    label: str
    name: str
    total: str
    parts: tuple[BarPart, ...]


@dataclass(frozen=True)
class FirstScreen:
    """`main` is the first comparison, where there is one; `latencies` are a variant, its median, and the middle of its
    iterations; `rows` have a time and a share for each bar; `phases` are those of a workload, with a step of each of
    the variants in `phase_headings`."""

    subject: str
    main: tuple[Comparison, ...]
    others: tuple[Comparison, ...]
    latencies: tuple[tuple[str, str, str], ...]
    kernels: tuple[str, ...]
    bars: tuple[TimeBar, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    bottleneck: str
    slower: str
    modules: str
    steps: tuple[NextStep, ...]
    phase_headings: tuple[str, ...] = ()
    phases: tuple[tuple[str, ...], ...] = ()


def build_first_screen(report: Report) -> FirstScreen:
    drawn = _choose_drawn(report)
    compared = report.comparisons[:_COMPARISONS]
    # The sides of one comparison are called as in its title, which says what they have in common.
    names = {side: name for c in compared if len(compared) == 1 for side, name in zip(c.sides, c.names, strict=True)}
    latencies = [(names.get(v.variant, v.label), v.latency) for v in _choose_timed(report) if v.latency]
    focus = compared[0].candidate if compared else report.choice.fastest if report.choice else None
    return FirstScreen(
        subject=f"{report.model} on {report.context.get('cpu', 'an unknown CPU')}",
        main=compared[:1],
        others=compared[1:],
        latencies=tuple(
            (label, format_ms(each.median_ms), f"{format_ms(each.p5_ms)} to {format_ms(each.p95_ms)}")
            for label, each in latencies[:_LATENCIES]
        ),
        kernels=_list_kernels(report),
        bars=_build_bars(drawn, compared[:1], phase_tables.unit_of(report)),
        rows=_build_rows(drawn),
        bottleneck=sentences.bottleneck_sentence(compared[0]) if compared else "",
        slower=sentences.slower_sentence(compared[0]) if compared else "",
        modules=sentences.modules_sentence(compared[0]) if compared else "",
        steps=tuple(each for each in report.next_steps if focus in (None, each.variant))[:_STEPS],
        **_build_phases(report),
    )


def _list_kernels(report: Report) -> tuple[str, ...]:
    """What the samples prove, of a workload in its first phases; and where the other samples are."""
    shown = [v.evidence for v in report.variants if v.evidence and v.evidence.shown]
    by_phase = phase_tables.kernels_sentence(report, _PHASES)
    if by_phase and shown:
        return (f"{by_phase} {sample_places.places_sentence(shown[0])}",)
    said = [sample_places.evidence_sentence(evidence) for evidence in shown]
    return (by_phase,) if by_phase else tuple(dict.fromkeys(said))


def _build_phases(report: Report) -> dict[str, tuple[Any, ...]]:
    """The phases of the first comparison, or of the first variants."""
    if report.phases is None or not report.times_are_real:
        return {}
    first = report.comparisons[:1]
    sides = [side for c in first for side in c.sides] or [v.variant for v in report.measured[:_BARS]]
    names = [name for c in first for name in c.names] or [side.label for side in sides]
    headings = ("Step of", *names, *(["Speed-up"] if first else []))
    return {"phase_headings": headings, "phases": tuple(phase_tables.list_first(report, sides, _PHASES))}


def _choose_timed(report: Report) -> list[VariantReport]:
    """Those that the first verdicts are about; the front of a choice, the fastest first; or all."""
    wanted = [side for c in report.comparisons[:_COMPARISONS] for side in c.sides]
    if not wanted and report.choice:
        front = [row for row in report.choice.rows if row.standing is Standing.FRONT]
        wanted = [row.variant for row in sorted(front, key=lambda row: row.latency_ms or inf) if row.variant]
    return [report.of(variant) for variant in dict.fromkeys(wanted)] or list(report.measured)


def _choose_drawn(report: Report) -> list[VariantReport]:
    """The two sides of the first comparison; the first build and the fastest of a choice; or the first variants."""
    first = report.comparisons[:1]
    sides = [report.of(side) for c in first for side in c.sides]
    if not sides and report.choice and report.choice.fastest:
        sides = [report.measured[0], report.of(report.choice.fastest)]
    sides = sides or list(report.measured)
    return [variant for variant in sides if variant.categories][:_BARS]


def _build_bars(variants: Sequence[VariantReport], first: Sequence[Comparison], unit: str) -> tuple[TimeBar, ...]:
    totals = [sum(row.mean_ms for row in variant.categories) for variant in variants]
    longest = max(totals, default=0.0) or 1.0
    names = first[0].names if first and len(variants) == _BARS else [variant.label for variant in variants]
    return tuple(
        TimeBar(
            label=variant.label,
            name=name,
            total=f"{format_ms(total)} per traced {unit}",
            parts=tuple(
                BarPart(row.name, 100 * row.mean_ms / longest, format_ms(row.mean_ms), format_percent(row.share))
                for row in variant.categories
            ),
        )
        for variant, name, total in zip(variants, names, totals, strict=True)
    )


def _build_rows(variants: Sequence[VariantReport]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Categories that take time in one of the variants, in the order of the first."""
    names = dict.fromkeys(row.name for variant in variants for row in variant.categories if row.mean_ms > 0)
    by_name = [{row.name: row for row in variant.categories} for variant in variants]
    return tuple(
        (
            name,
            tuple(
                cell
                for rows in by_name
                for cell in (
                    (format_ms(rows[name].mean_ms), format_percent(rows[name].share)) if name in rows else ("", "")
                )
            ),
        )
        for name in names
    )
