"""The colour of each category, the same in every chart and table.

Wong, Points of view: Color blindness, Nature Methods 8, 441 (2011): told apart with any of the common deficiencies.
"""

from typing import NamedTuple

from etprof.core.report import DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD

# Text and lines of a chart; in a web page it takes the page's own text colour.
INK = "#24292f"
GRID = "#8b949e"
PAPER = "#ffffff"
# What a reader is meant to see first, such as a median.
MARK = "#d55e00"


class Colour(NamedTuple):
    fill: str
    text: str


_DARK, _LIGHT = "#111111", "#ffffff"
_CATEGORIES = {
    "Convolution": Colour("#0072b2", _LIGHT),
    "GEMM": Colour("#56b4e9", _DARK),
    "Data Movement": Colour("#e69f00", _DARK),
    "Elementwise": Colour("#009e73", _DARK),
    "Other": Colour("#cc79a7", _DARK),
    DELEGATE_OVERHEAD: Colour("#b0b0b0", _DARK),
    FRAMEWORK_OVERHEAD: Colour("#757575", _LIGHT),
}
# For categories that a user's own rules add.
_OWN = (Colour("#d55e00", _DARK), Colour("#f0e442", _DARK))


def category_colour(name: str) -> Colour:
    if name in _CATEGORIES:
        return _CATEGORIES[name]
    return _OWN[sum(name.encode()) % len(_OWN)]
