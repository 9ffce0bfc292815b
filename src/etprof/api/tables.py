"""A table of a run or a trace, with plain values: shows itself in a notebook, and becomes a data frame on request."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from etprof.core.errors import DependencyError

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]
    import polars

Cell = str | int | float | bool | None

_MOST_ROWS_SHOWN = 60


@dataclass(frozen=True, repr=False)
class Table:
    """Iterating gives a dict for each row; `rows` are tuples in the order of `columns`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, index: int) -> dict[str, Cell]:
        return dict(zip(self.columns, self.rows[index], strict=True))

    def __repr__(self) -> str:
        return f"<Table of {len(self)} row{'s' if len(self) != 1 else ''}: {', '.join(self.columns)}>"

    def to_pandas(self) -> "pandas.DataFrame":
        frame: pandas.DataFrame = _require("pandas").DataFrame(self._by_column())
        return frame

    def to_polars(self) -> "polars.DataFrame":
        frame: polars.DataFrame = _require("polars").DataFrame(self._by_column())
        return frame

    def _by_column(self) -> dict[str, list[Cell]]:
        return {column: [row[i] for row in self.rows] for i, column in enumerate(self.columns)}

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        lines = ["<tr>" + "".join(map(_html_cell, row)) + "</tr>" for row in self.rows[:_MOST_ROWS_SHOWN]]
        more = len(self) - len(lines)
        rest = f"<p>{more} more rows: use to_pandas(), to_polars() or rows.</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{rest}"


def build_table(columns: Sequence[str], records: Iterable[Sequence[Cell]]) -> Table:
    return Table(tuple(columns), tuple(map(tuple, records)))


def _html_cell(value: Cell) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else escape(str(value))
    return f'<td style="text-align:{"right" if is_number else "left"}">{text}</td>'


def _require(package: str) -> Any:
    """A package that etprof does without until somebody asks for it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise DependencyError(f"to_{package}() needs {package}.", hint=f"Run: pip install {package}") from error
