"""`etprof kernel-view`: the kernels of two arms side by side, from their tables."""

from pathlib import Path
from typing import Annotated

import typer

from etprof.cli.console import out
from etprof.core.errors import UsageError


def command(
    on: Annotated[Path, typer.Option("--on", "--sme2-on", help="The *_kernels.csv of the arm with the extension.")],
    off: Annotated[Path, typer.Option("--off", "--sme2-off", help="The *_kernels.csv of the arm without it.")],
    target: Annotated[Path, typer.Option("--out", help="Where the view goes: .md or .csv.")],
) -> None:
    """Put the kernels of two arms side by side, operator by operator."""
    from etprof.analysis.kernel_view import build_kernel_view
    from etprof.reports.kernel_view import render_csv, render_markdown
    from etprof.store.json_file import write_text
    from etprof.store.kernel_files import load_kernels

    formats = {".md": render_markdown, ".csv": render_csv}
    if target.suffix not in formats:
        raise UsageError(f"{target} is neither .md nor .csv.", hint="Name the file with one of these endings.")
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}.")
    view = build_kernel_view(load_kernels(on), load_kernels(off))
    lines = [(row.operator, row.category, row.changed, row.on, row.off) for row in view.rows]
    write_text(target, formats[target.suffix](view.level, lines))
    changed = sum(row.changed for row in view.rows)
    out.print(
        f"{len(view.rows)} operators, {changed} of them with other instructions ({view.level}): {target}", markup=False
    )
