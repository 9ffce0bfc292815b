"""Tables in plain text that are readable at any width: nothing is ever broken or cut, less important columns leave."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from etprof.reports.plain_text import printable

_GAP = "  "
# A number and its unit stay on one line.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nmµ]?s\b|[KMG]?i?B\b))")
_NO_BREAK = "\u00a0"


# Compared by identity: two columns may say the same.
@dataclass(frozen=True, eq=False)
class Column:
    """`importance` 0 is always shown; the others are shown where they fit, small numbers first. Numbers go right."""

    heading: str
    cells: Sequence[str]
    importance: int = 0
    right: bool = False

    @property
    def width(self) -> int:
        return max(map(len, (self.heading, *self.cells)))


@dataclass(frozen=True)
class TextTable:
    """`totals` of the last rows are set apart by a line; `more` says how to see the columns that did not fit."""

    title: str
    columns: Sequence[Column]
    totals: int = 0
    more: str = "--wide shows all"


def render_table(table: TextTable, width: int | None) -> str:
    """The table for a terminal of this width, None for any width."""
    shown, left_out = _choose(table.columns, width)
    widths = [column.width for column in shown]
    rule = _GAP.join("-" * each for each in widths)
    rows = [_line(cells, shown, widths) for cells in zip(*(column.cells for column in shown), strict=True)]
    if table.totals:
        rows.insert(len(rows) - table.totals, rule)
    lines = [wrap(table.title, width)] if table.title else []
    lines += [_line([column.heading for column in shown], shown, widths), rule, *rows]
    if left_out:
        headings = ", ".join(column.heading for column in left_out)
        lines.append(wrap(f"not shown at this width: {headings} ({table.more})", width))
    return "\n".join(lines) + "\n"


def split_table(table: TextTable, width: int | None) -> Iterator[TextTable]:
    """The table in parts of as many columns as fit, one below the other; each begins with the first column."""
    first, *others = table.columns
    part = [first]
    for column in others:
        if width is not None and len(part) > 1 and _total([*part, column]) > width:
            yield replace(table, columns=part)
            part = [first]
        part.append(column)
    yield replace(table, columns=part)


def wrap(text: str, width: int | None, indent: str = "") -> str:
    """Text in lines of this width, broken between words only; `indent` is for all lines but the first."""
    text = printable(text)
    if width is None or not text:
        return text
    filled = textwrap.fill(
        _BEFORE_UNIT.sub(_NO_BREAK, text), width, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return filled.replace(_NO_BREAK, " ")


def _choose(columns: Sequence[Column], width: int | None) -> tuple[list[Column], list[Column]]:
    """The columns that fit and those that do not. A column without any content is neither."""
    filled = [column for column in columns if column.importance == 0 or any(column.cells)]
    chosen: list[Column] = []
    for column in sorted(filled, key=lambda column: column.importance):
        if column.importance == 0 or width is None or _total([*chosen, column]) <= width:
            chosen.append(column)
    return [column for column in filled if column in chosen], [column for column in filled if column not in chosen]


def _total(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + len(_GAP) * (len(columns) - 1)


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    # Names come from models and devices: none of them may steer the terminal or end the line.
    padded = [
        printable(cell).rjust(width) if column.right else printable(cell).ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    ]
    return _GAP.join(padded).rstrip()
