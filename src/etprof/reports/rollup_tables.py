"""Groups of operators as tables: by kind of layer, by module and by shape; before and after where they are compared."""

from collections.abc import Sequence
from dataclasses import dataclass

from etprof.core.report import Report, RollupChange
from etprof.core.rows import RollupRow
from etprof.core.units import format_macs, format_ms, format_percent, format_rate, format_ratio
from etprof.reports.text_table import Column, TextTable

# What the groups of a table are called, by what its operators have in common; the first is the one to start with.
HEADINGS = {"kind": "Layer kind", "module": "Module", "shape": "Kind and shapes"}


@dataclass(frozen=True)
class RollupColumn:
    """`importance` is that of a text table's column: 0 is always shown, the largest leaves first."""

    heading: str
    cells: tuple[str, ...]
    importance: int = 0


@dataclass(frozen=True)
class RollupTable:
    """`left_out` groups are shorter than those in `names`."""

    by: str
    title: str
    names: tuple[str, ...]
    columns: tuple[RollupColumn, ...]
    left_out: int

    @property
    def heading(self) -> str:
        return HEADINGS[self.by]

    @property
    def lines(self) -> list[tuple[str, tuple[str, ...]]]:
        cells = zip(*(column.cells for column in self.columns), strict=True)
        return list(zip(self.names, cells, strict=True))


def build_rollup_tables(report: Report, most: int, groupings: Sequence[str] = tuple(HEADINGS)) -> list[RollupTable]:
    """A table for each grouping of each comparison, or of each variant where nothing is compared."""
    compared = [comparison for comparison in report.comparisons if comparison.rollups]
    single = [] if compared else [variant for variant in report.measured if variant.rollups]
    return [
        *(
            build_change_table(c.title, by, c.rollups[by], c.names, most)
            for c in compared
            for by in groupings
            if by in c.rollups
        ),
        *(build_table(v.label, by, v.rollups[by], most) for v in single for by in groupings if by in v.rollups),
    ]


def build_table(title: str, by: str, rows: Sequence[RollupRow], most: int | None) -> RollupTable:
    shown = tuple(rows[:most])
    columns = [
        RollupColumn("time", tuple(format_ms(row.mean_ms) for row in shown)),
        RollupColumn("share", tuple(format_percent(row.share) for row in shown), 1),
        RollupColumn("operators", tuple(str(row.count) for row in shown), 3),
    ]
    if any(row.macs for row in rows):
        columns += [
            RollupColumn("MACs", tuple(format_macs(row.macs) for row in shown), 4),
            RollupColumn("GMAC/s", tuple(format_rate(row.gmac_per_s) for row in shown), 2),
        ]
    return RollupTable(by, title, tuple(row.name for row in shown), tuple(columns), len(rows) - len(shown))


def build_change_table(
    title: str, by: str, changes: Sequence[RollupChange], names: tuple[str, str], most: int | None
) -> RollupTable:
    """`names` are what baseline and candidate are called."""
    shown = changes[:most]
    before, after = [change.baseline for change in shown], [change.candidate for change in shown]
    columns = [
        RollupColumn(names[0], tuple(map(_time, before))),
        RollupColumn(names[1], tuple(map(_time, after))),
        RollupColumn("share", tuple(format_percent(row.share) if row else "" for row in after), 1),
        RollupColumn("speed-up", tuple(format_ratio(c.speedup) if c.speedup else "n/a" for c in shown), 2),
        RollupColumn("operators", tuple(str(row.count) if row else "0" for row in after), 5),
    ]
    if any(row.macs for change in changes for row in (change.baseline, change.candidate) if row):
        columns += [
            RollupColumn("MACs", tuple(_macs(change) for change in shown), 6),
            RollupColumn("GMAC/s before", tuple(map(_rate, before)), 4),
            RollupColumn("GMAC/s", tuple(map(_rate, after)), 3),
        ]
    return RollupTable(by, title, tuple(change.name for change in shown), tuple(columns), len(changes) - len(shown))


def as_text_table(table: RollupTable, unit: str = "inference") -> TextTable:
    """For a terminal: columns that are needed less leave first."""
    left_out = f"; {table.left_out} shorter ones are not shown" if table.left_out else ""
    return TextTable(
        f"Operators by {table.by} (traced, per {unit}); {table.title}{left_out}",
        [
            Column(table.heading.lower(), table.names),
            *(Column(each.heading, each.cells, each.importance, right=True) for each in table.columns),
        ],
    )


def _time(row: RollupRow | None) -> str:
    return format_ms(row.mean_ms) if row else "absent"


def _rate(row: RollupRow | None) -> str:
    return format_rate(row.gmac_per_s) if row else ""


def _macs(change: RollupChange) -> str:
    row = change.candidate or change.baseline
    return format_macs(row.macs) if row else ""
