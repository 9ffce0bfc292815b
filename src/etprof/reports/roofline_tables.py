"""The roofline of a report in words and tables: what an inference cannot beat, and where its time is lost."""

from dataclasses import dataclass

from etprof.core.peaks import LEVELS
from etprof.core.report import Report
from etprof.core.roofline import Roofline, RooflineGroup, RooflineRow
from etprof.core.units import format_ms, format_percent, format_rate
from etprof.reports.rollup_tables import RollupColumn, RollupTable
from etprof.reports.sentences import EMULATED, NO_GRAPH, has_graph
from etprof.reports.text_table import Column, TextTable, render_table, wrap

_NO_PEAKS = "Not known: what this CPU can do at most. Measure it with `etprof devices peaks {}`, then report again."
_NO_WORK = "Not known: the work of the operators, which follows from the shapes in the model's graph."
_CHANGING_WORK = "Not known: the work of the operators, which changes with the shapes of each step."
_MOST_BOUNDS = 3
# Operators below this part of their ceiling are far from it; less of them than this part of the time goes unsaid.
_FAR_BELOW, _WORTH_SAYING = 0.1, 0.1


@dataclass(frozen=True)
class RooflineLine:
    name: str
    identity: str
    module: str
    kind: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class RooflineTable:
    """The operators of one variant; `left_out` lose less than those in `lines`."""

    title: str
    headings: tuple[str, ...]
    lines: tuple[RooflineLine, ...]
    left_out: int


def list_shown(report: Report) -> list[tuple[str, Roofline]]:
    """The label of each variant that has a roofline, those that are to be improved first."""
    wanted = {variant.variant for variant in report.to_improve}
    in_order = sorted(report.measured, key=lambda variant: variant.variant not in wanted)
    return [(variant.label, variant.roofline) for variant in in_order if variant.roofline]


def missing_sentence(report: Report) -> str:
    """What a roofline lacks, and the command that brings it; empty where there is one."""
    if list_shown(report):
        return ""
    if not report.times_are_real:
        return EMULATED
    rows = [row for variant in report.measured for row in variant.operators]
    if not rows:
        return "Not known: no trace shows how long the operators take."
    if not any(row.work for row in rows):
        return _CHANGING_WORK if report.phases and has_graph(report) else f"{_NO_WORK} {NO_GRAPH}"
    device = report.context.get("device", "")
    return _NO_PEAKS.format("local" if device in ("", "this machine") else device)


def roofline_sentence(label: str, roofline: Roofline) -> str:
    """The shortest time of an inference, how far it is from that, and where most is lost."""
    said = (
        f"{label}: this inference cannot be faster than {format_ms(roofline.floor_ms)} on this CPU with these "
        f"operators; they take {format_ms(roofline.mean_ms)}"
    )
    said += f", {format_share(roofline.floor_ms / roofline.mean_ms)} of the ceiling." if roofline.mean_ms else "."
    unknown = 1 - roofline.covered_ms / roofline.mean_ms if roofline.mean_ms else 0.0
    if unknown >= 0.01:
        said += f" The work of {format_percent(unknown, 0)} of that time is not known and counts as none."
    worst = next(iter(roofline.groups.get("kind", ())), None)
    if worst and worst.lost_ms > 0:
        said += f" Most is lost in {worst.name}: {format_ms(worst.lost_ms)} above the ceiling."
    return said


def bounds_sentence(roofline: Roofline) -> str:
    """What the ceilings of the operators are due to, as shares of their time, and how much is far below them."""
    whole = roofline.covered_ms
    ranked = sorted(roofline.bounds_ms.items(), key=lambda item: -item[1])[:_MOST_BOUNDS]
    parts = [f"{bound} {format_percent(ms / whole, 0)}" for bound, ms in ranked if whole]
    if not parts:
        return ""
    far = sum(row.mean_ms for row in roofline.rows if row.ceiling and row.share_of_ceiling < _FAR_BELOW) / whole
    said = (
        f" Operators below {format_percent(_FAR_BELOW, 0)} of their ceiling take {format_percent(far, 0)} of the time: "
        "not the CPU's limit, but their kernels or shapes hold them back."
    )
    return f"Lowest ceiling, by time: {', '.join(parts)}.{said if far >= _WORTH_SAYING else ''}"


def evidence_sentence(roofline: Roofline) -> str:
    """Where the ceilings come from."""
    computing = [row for row in roofline.rows if row.ceiling]
    executed = sum(row.is_executed for row in computing)
    if not computing:
        return ""
    if executed == len(computing):
        return "Ceilings are those of the instructions that were executed."
    best = "the best instructions that the variant could use"
    if not executed:
        return f"Ceilings are those of {best}; `etprof profile --kernels` finds out which were executed."
    return (
        f"Ceilings are those of the instructions executed by {executed} of {len(computing)} operators, else of {best}."
    )


def build_roofline_table(label: str, roofline: Roofline, most: int | None) -> RooflineTable:
    rows = roofline.rows[:most]
    headings = ("time", "lost", "of ceiling", "bound by", "Gop/s", "GB/s", "op/byte", "ceiling")
    lines = tuple(
        RooflineLine(row.name, str(row.identity), row.module_path, row.kind, _list_cells(row)) for row in rows
    )
    return RooflineTable(label, headings, lines, len(roofline.rows) - len(rows))


def build_loss_tables(label: str, roofline: Roofline, most: int | None) -> list[RollupTable]:
    return [_build_loss_table(label, by, groups, most) for by, groups in roofline.groups.items()]


def _build_loss_table(title: str, by: str, groups: tuple[RooflineGroup, ...], most: int | None) -> RollupTable:
    shown = groups[:most]
    columns = (
        RollupColumn("lost", tuple(format_ms(group.lost_ms) for group in shown)),
        RollupColumn("time", tuple(format_ms(group.mean_ms) for group in shown)),
        RollupColumn("at least", tuple(format_ms(group.floor_ms) for group in shown), 1),
        RollupColumn("of ceiling", tuple(format_share(group.share_of_ceiling) for group in shown)),
        RollupColumn("operators", tuple(str(group.count) for group in shown), 2),
    )
    return RollupTable(by, title, tuple(group.name for group in shown), columns, len(groups) - len(shown))


def list_sentences(report: Report) -> list[str]:
    """Of every variant; or what is missing for them."""
    return [say_all(label, roofline) for label, roofline in list_shown(report)] or [missing_sentence(report)]


def say_all(label: str, roofline: Roofline) -> str:
    said = (roofline_sentence(label, roofline), bounds_sentence(roofline), evidence_sentence(roofline))
    return " ".join(filter(None, said))


def render_text(label: str, roofline: Roofline, width: int | None, most: int) -> str:
    """For a terminal: the sentences, then the operators and the kinds of layers that lose most."""
    kinds = [table for table in build_loss_tables(label, roofline, most) if table.by == "kind"]
    tables = [_as_text(build_roofline_table(label, roofline, most)), *map(_loss_as_text, kinds)]
    return "\n".join([f"{wrap(say_all(label, roofline), width)}\n", *(render_table(table, width) for table in tables)])


def _as_text(table: RooflineTable) -> TextTable:
    importances = (0, 0, 0, 0, 2, 3, 5, 4)
    columns = [Column("operator", [line.name for line in table.lines])]
    columns.append(Column("id", [line.identity for line in table.lines], 1))
    columns.append(Column("module", [line.module for line in table.lines], 6))
    for at, (heading, importance) in enumerate(zip(table.headings, importances, strict=True)):
        is_text = heading in ("bound by", "ceiling")
        columns.append(Column(heading, [line.cells[at] for line in table.lines], importance, right=not is_text))
    left_out = f"; {table.left_out} that lose less are not shown" if table.left_out else ""
    return TextTable(f"Time above the ceiling; {table.title}{left_out}", columns)


def _loss_as_text(table: RollupTable) -> TextTable:
    columns = [Column(table.heading.lower(), table.names)]
    columns += [Column(each.heading, each.cells, each.importance, right=True) for each in table.columns]
    return TextTable(f"Time above the ceiling by {table.by}; {table.title}", columns)


def _list_cells(row: RooflineRow) -> tuple[str, ...]:
    return (
        format_ms(row.mean_ms),
        format_ms(row.lost_ms),
        format_share(row.share_of_ceiling),
        row.bound,
        format_rate(row.gop_per_s) if row.operations else "",
        format_rate(row.gb_per_s),
        format_rate(row.intensity) if row.operations else "",
        _name_ceiling(row),
    )


def _name_ceiling(row: RooflineRow) -> str:
    if row.bound in LEVELS or not row.ceiling:
        return row.bound
    return row.ceiling if row.is_executed else f"{row.ceiling} (not sampled)"


def format_share(share: float) -> str:
    """Shares of a ceiling may be far below a hundredth."""
    return format_percent(share, 0 if share >= 0.1 else 1)
