"""The colour of each category and class of instructions, the same in every chart and table."""

from typing import NamedTuple

from etprof.core.categories import part_of

# Text and lines of a chart; in a web page it takes the page's own text colour.
INK = "#24292f"
PAPER = "#ffffff"
# What a reader is meant to see first, such as a median.
MARK = "#d55e00"


# The lines of one plot: a colour and a pattern of dashes each, so that they differ without colour too.
LINES = (("#0072b2", ""), ("#d55e00", "7 4"), ("#009e73", "2 3"), ("#cc79a7", "9 3 2 3"))


# What belongs to no category and no class.
PLAIN = "#d0d7de"
_CLASSES = {
    "SME": "#f7b267", "AMX": "#f7b267", "SVE": "#f4d58d", "AVX-512": "#f4d58d", "NEON": "#9ad1d4", "AVX2": "#84c5a5",
    "AVX": "#9ad1d4",
    "I8MM": "#84c5a5", "DotProd": "#a7d7a9", "BF16": "#c5e0a0", "FP16": "#d9e8b0",
    "SSE": "#b8c0ff", "scalar": "#e2e2e2", "unknown": "#ffffff",
}  # fmt: skip


class Colour(NamedTuple):
    fill: str
    text: str


# For categories that a user's own rules add.
_OWN = (Colour("#d55e00", "#111111"), Colour("#f0e442", "#111111"))


def category_colour(name: str) -> Colour:
    part = part_of(name)
    return Colour(part.fill, part.ink) if part else _OWN[sum(name.encode()) % len(_OWN)]


def instruction_colour(name: str) -> str:
    return _CLASSES.get(name, PLAIN)
