"""The kernel view as Markdown and as CSV: what executed with the extension shown and hidden, side by side."""

import csv
import io
from collections.abc import Sequence

from etprof.core.csv_cells import guard_cell
from etprof.core.samples import REGISTERED, KernelLine
from etprof.reports.markdown import escape_text as cell

# What a view's row offers to these formats: operator, category, changed, and the kernels of each variant.
ViewLine = tuple[str, str, bool, tuple[KernelLine, ...], tuple[KernelLine, ...]]
COLUMNS = ("operator", "category", "on_classes", "on_kernels", "off_classes", "off_kernels", "changed", "level")


def render_markdown(level: str, lines: Sequence[ViewLine], title: str = "") -> str:
    note = (
        "These kernels were registered: XNNPACK would use them. This does not show that they executed."
        if level == REGISTERED
        else "These kernels were sampled while the operator ran; the number is the count of samples."
    )
    text = [
        f"# {cell(title) if title else 'Kernel view'}",
        "",
        note,
        "",
        "| Operator | Category | On | Off | Changed |",
        "| --- | --- | --- | --- | --- |",
    ]
    text += [
        f"| {cell(operator)} | {cell(category)} | {_kernels(on)} | {_kernels(off)} | {'yes' if changed else ''} |"
        for operator, category, changed, on, off in lines
    ]
    return "\n".join(text) + "\n"


def render_csv(level: str, lines: Sequence[ViewLine], _title: str = "") -> str:
    """A table has no title."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for operator, category, changed, on, off in lines:
        sides = [part for side in (on, off) for part in (_classes(side), " ".join(line.kernel for line in side))]
        cells = [operator, category, *sides, "yes" if changed else "no", level]
        writer.writerow(map(guard_cell, cells))
    return text.getvalue()


def _classes(lines: Sequence[KernelLine]) -> str:
    return " ".join(dict.fromkeys(line.instruction_class for line in lines if line.instruction_class))


def _kernels(lines: Sequence[KernelLine]) -> str:
    named = [line for line in lines if line.kernel]
    shown = [
        f"{cell(line.kernel)} ({cell(line.instruction_class)}{f', {line.samples}' if line.samples else ''})"
        for line in named[:3]
    ]
    return "<br>".join(shown) + (f"<br>and {len(named) - 3} more" if len(named) > 3 else "") or "not sampled"
