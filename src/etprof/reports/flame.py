"""Samples as a flame-like picture: all of them on top, operators below, and below each the kernels that executed."""

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from etprof.core.kernel_evidence import KernelEvidence
from etprof.reports.palette import PLAIN, instruction_colour

_WIDTH, _ROW = 1000.0, 24
_LETTER = 6.4
_SMALLEST = 0.5
_INK = "#1f2328"


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture; `x` and `width` are shares of the whole."""

    row: int
    x: float
    width: float
    label: str
    hint: str
    colour: str


def render_flame(evidence: KernelEvidence) -> str:
    """An SVG element; empty where nothing was sampled inside operators."""
    boxes = list(build_boxes(evidence))
    if not boxes:
        return ""
    height = _ROW * 3
    label = escape(f"Kernels of {evidence.experiment} by samples", {'"': "&quot;"})
    parts = [f'<svg viewBox="0 0 {_WIDTH:g} {height}" role="img" aria-label="{label}" class="flame">']
    parts += [_draw(box) for box in boxes if box.width * _WIDTH >= _SMALLEST]
    return "".join(parts) + "</svg>"


def build_boxes(evidence: KernelEvidence) -> Iterator[Box]:
    """Operators and kernels with the most samples first; a box is as wide as its part of all samples."""
    rows = sorted((row for row in evidence.operators if row.samples), key=lambda row: -row.samples)
    total = sum(row.samples for row in rows)
    if not total:
        return
    yield Box(0, 0.0, 1.0, f"{total} samples in operators", "all samples that fell into an operator", PLAIN)
    x = 0.0
    for row in rows:
        hint = f"{row.name} [{row.identity}]: {row.samples} samples, {row.samples / total:.1%}"
        yield Box(1, x, row.samples / total, row.name, hint, PLAIN)
        at = x
        for kernel in row.kernels:
            width = kernel.samples / total
            hint = f"{kernel.name} ({kernel.instruction_class}): {kernel.samples} samples in {row.name}"
            label = f"{kernel.instruction_class}: {kernel.name}"
            yield Box(2, at, width, label, hint, instruction_colour(kernel.instruction_class))
            at += width
        x += row.samples / total


def _draw(box: Box) -> str:
    x, width, y = box.x * _WIDTH, box.width * _WIDTH, box.row * _ROW
    letters = int((width - 6) / _LETTER)
    text = box.label if len(box.label) <= letters else box.label[: letters - 1] + "\u2026"
    words = (
        f'<text x="{x + 3:.1f}" y="{y + 16}" font-size="11" font-family="monospace" fill="{_INK}">{escape(text)}</text>'
        if letters > 3
        else ""
    )
    return (
        f'<g><title>{escape(box.hint)}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_ROW - 1}" '
        f'fill="{box.colour}" stroke="{_INK}" stroke-width="0.3"/>{words}</g>'
    )
