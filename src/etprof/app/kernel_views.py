"""Tables of kernels outside of a report: two of them side by side, and what an XNNPACK log registered."""

from collections.abc import Sequence
from pathlib import Path

from etprof.analysis.kernels.executed_code import class_of_name
from etprof.analysis.kernels.side_by_side import ViewRow, build_kernel_view
from etprof.core.errors import UsageError
from etprof.core.samples import REGISTERED
from etprof.reports.kernel_view import render_csv, render_markdown
from etprof.store.json_file import write_text
from etprof.store.kernel_files import load_kernels, write_rows
from etprof.store.paths import require_file
from etprof.traces.xnn_log import read_xnn_log

_VIEWS = {".md": render_markdown, ".csv": render_csv}


def write_kernel_view(on: Path, off: Path, target: Path, *, title: str = "", operator: str = "") -> str:
    """Puts the kernels of two variants side by side; returns what was found, as a phrase.

    `operator` keeps those operators whose name holds it, in small or capital letters.
    """
    if target.suffix not in _VIEWS:
        raise UsageError(f"{target} is neither .md nor .csv.", hint="Give the file one of these suffixes.")
    _require_folder(target)
    for path in (on, off):
        require_file(path, "table", hint="Each run that sampled has a *_kernels.csv for every variant.")
    view = build_kernel_view(load_kernels(on), load_kernels(off))
    rows = [row for row in view.rows if operator.lower() in row.operator.lower()]
    if not rows:
        raise UsageError(f"No operator of the tables is called {operator!r}.", hint=_list_operators(view.rows))
    lines = [(row.operator, row.category, row.changed, row.on, row.off) for row in rows]
    write_text(target, _VIEWS[target.suffix](view.level, lines, title))
    changed = sum(row.changed for row in rows)
    of_all = f" of {len(view.rows)}" if operator else ""
    return f"{len(rows)}{of_all} operators, {changed} of them with other instructions ({view.level})"


def _list_operators(rows: Sequence[ViewRow]) -> str:
    return f"They are called {', '.join(dict.fromkeys(row.operator for row in rows))}."[:300]


def write_registered_kernels(log: Path, target: Path, *, model_id: str = "") -> int:
    """The kernels of an XNNPACK debug log as a table; returns how many there are.

    A log does not name its model: `model_id` is what a user says it is.
    """
    _require_folder(target)
    kernels = read_xnn_log(require_file(log, "log", hint="It is what a runner of a debug build of XNNPACK prints."))
    rows = [
        {
            "level": REGISTERED,
            "model_id": model_id,
            "operator": f"{k.operation} ({', '.join(k.data_types)})" if k.operation else k.name,
            "data_type": " ".join(k.data_types),
            "kernel": k.name,
            "instruction_class": class_of_name(k.name),
        }
        for k in kernels
    ]
    write_rows(target, rows)
    return len(rows)


def _require_folder(target: Path) -> None:
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}.", hint="Make it first, or name another --out.")
