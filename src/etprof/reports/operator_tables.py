"""The operators of a report as tables: one per comparison, or one per variant where nothing is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etprof.core.operators import OperatorId
from etprof.core.report import Comparison, Report, VariantReport
from etprof.core.rows import OperatorRow
from etprof.core.units import format_ms, format_percent, format_rate, format_ratio
from etprof.core.work import Work, rate_gmac_per_s
from etprof.reports.roofline_tables import format_share
from etprof.reports.sentences import format_change_ms

# Rows of all tables of a page together; with more than this it would be megabytes of text that nobody reads.
MAX_LINES = 2000
_WORK, _CEILING = "GMAC/s", "of ceiling"
_PORTABLE = "portable"


@dataclass(frozen=True)
class Cell:
    """A quantity as text, and as the number it is sorted by."""

    text: str
    value: float


@dataclass(frozen=True)
class Line:
    """`rows` are the number of a variant and the identity of its operator, for each variant that has it.

    `module` may say what an inserted operator stands before or after; it and `shapes` are empty where unknown.
    """

    identity: OperatorId
    name: str
    module: str
    kind: str
    shapes: str
    category: str
    where: str
    classes: tuple[str, ...]
    note: str
    cells: tuple[Cell, ...]
    rows: tuple[tuple[int, OperatorId], ...]


@dataclass(frozen=True)
class OperatorTable:
    heading: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    left_out: int

    @property
    def has_modules(self) -> bool:
        return any(line.module or line.shapes for line in self.lines)

    @property
    def has_portable(self) -> bool:
        return any(line.where == _PORTABLE for line in self.lines)

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.category for line in self.lines))

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(sorted({name for line in self.lines for name in line.classes}))


def build_operator_tables(report: Report, most_each: int = MAX_LINES) -> tuple[OperatorTable, ...]:
    """The slowest operators first; what does not fit is counted in `left_out`."""
    compared = [c for c in report.comparisons if c.operators]
    single = [] if compared else [variant for variant in report.measured if variant.operators]
    each = min(most_each, MAX_LINES // max(len(compared) + len(single), 1))
    tables = [_compared_table(report, comparison, each) for comparison in compared]
    return (*tables, *(_single_table(report, variant, each) for variant in single))


def _compared_table(report: Report, comparison: Comparison, most: int) -> OperatorTable:
    numbers = {variant.variant: i for i, variant in enumerate(report.variants)}
    before, after = numbers[comparison.baseline], numbers[comparison.candidate]
    rows_before, rows_after = (_by_identity(report.variants[i]) for i in (before, after))
    ranked = sorted(comparison.operators, key=lambda c: -(c.candidate_ms or 0.0))
    places = _places(report.variants[before]) | _places(report.variants[after])
    has_work = any(change.work for change in comparison.operators)
    ceilings = _ceilings(report.variants[after])
    lines = []
    for change in ranked[:most]:
        found = [
            (before, rows_before.get(change.baseline_identity) if change.baseline_identity else None),
            (after, rows_after.get(change.candidate_identity) if change.candidate_identity else None),
        ]
        own = [(number, row) for number, row in found if row]
        share = found[1][1].share if found[1][1] else 0.0
        lines.append(
            Line(
                identity=change.identity,
                name=change.name,
                module=change.module_path or places.get(change.identity, ""),
                kind=change.kind,
                shapes=change.work.shapes if change.work else "",
                category=change.category,
                where=_where(change.delegated),
                # Those of now; what the baseline executed stands in its row's details.
                classes=_classes([row for _, row in own[-1:]]),
                note="newly dominant" if change.newly_dominant else "",
                cells=(
                    _time(change.baseline_ms),
                    _time(change.candidate_ms),
                    Cell(format_percent(share), share),
                    Cell(format_change_ms(-change.gain_ms), -change.gain_ms),
                    Cell(format_ratio(change.speedup), change.speedup) if change.speedup else Cell("n/a", 0.0),
                    *((_rate(change.work, change.candidate_ms),) if has_work else ()),
                    *((_ceiling(ceilings, change.candidate_identity),) if ceilings else ()),
                ),
                rows=tuple((number, row.identity) for number, row in own),
            )
        )
    columns = (*comparison.names, "share", "change", "speed-up", *_more_columns(has_work, ceilings))
    heading = comparison.title
    return OperatorTable(heading, columns, tuple(lines), len(comparison.operators) - len(lines))


def _single_table(report: Report, variant: VariantReport, most: int) -> OperatorTable:
    number = report.variants.index(variant)
    places = _places(variant)
    has_work = any(row.work for row in variant.operators)
    ceilings = _ceilings(variant)
    lines = tuple(
        Line(
            identity=row.identity,
            name=row.name,
            module=row.module_path or places.get(row.identity, ""),
            kind=row.kind,
            shapes=row.work.shapes if row.work else "",
            category=row.category,
            where=_where(row.delegated),
            classes=_classes([row]),
            note="",
            cells=(
                _time(row.mean_ms),
                _time(row.median_ms),
                Cell(format_percent(row.share), row.share),
                *((_rate(row.work, row.mean_ms),) if has_work else ()),
                *((_ceiling(ceilings, row.identity),) if ceilings else ()),
            ),
            rows=((number, row.identity),),
        )
        for row in variant.operators[:most]
    )
    columns = ("mean", "median", "share", *_more_columns(has_work, ceilings))
    return OperatorTable(variant.label, columns, lines, len(variant.operators) - len(lines))


def _places(variant: VariantReport) -> dict[OperatorId, str]:
    """Next to which module a layout change stands that belongs to none."""
    return {change.identity: change.module_path for change in variant.layout_changes}


def _more_columns(has_work: bool, ceilings: Mapping[str, float]) -> tuple[str, ...]:
    return (*((_WORK,) if has_work else ()), *((_CEILING,) if ceilings else ()))


def _rate(work: Work | None, time_ms: float | None) -> Cell:
    rate = rate_gmac_per_s(work.macs if work else 0, time_ms)
    return Cell(format_rate(rate), rate or 0.0)


def _ceilings(variant: VariantReport) -> dict[str, float]:
    """The part of its ceiling that each operator reaches, where the ceilings are known."""
    return {str(row.identity): row.share_of_ceiling for row in variant.roofline.rows} if variant.roofline else {}


def _ceiling(ceilings: Mapping[str, float], identity: OperatorId | None) -> Cell:
    share = ceilings.get(str(identity))
    return Cell("", -1.0) if share is None else Cell(format_share(share), share)


def _by_identity(variant: VariantReport) -> dict[OperatorId, OperatorRow]:
    return {row.identity: row for row in variant.operators}


def _classes(rows: Sequence[OperatorRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kernel.instruction_class for row in rows for kernel in row.kernels))


def _time(value_ms: float | None) -> Cell:
    return Cell("absent", -1.0) if value_ms is None else Cell(format_ms(value_ms), value_ms)


def _where(delegated: bool) -> str:
    return "delegated" if delegated else _PORTABLE
