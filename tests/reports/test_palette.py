"""Colours: one for each category, told apart by everybody, and text that can be read on them."""

from itertools import combinations

import pytest

from etprof.core.categories import PARTS
from etprof.reports.palette import INK, PAPER, category_colour


def luminance(colour: str) -> float:
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_no_two_categories_share_a_colour() -> None:
    assert all(category_colour(one.name) != category_colour(other.name) for one, other in combinations(PARTS, 2))


@pytest.mark.parametrize("name", [*(part.name for part in PARTS), "Mine", "Yours too"])
def test_text_on_a_category_can_be_read(name: str) -> None:
    colour = category_colour(name)
    assert contrast(colour.fill, colour.text) >= 4.5


def test_a_category_of_a_users_own_rules_has_a_colour_that_stays_and_is_none_of_ours() -> None:
    assert category_colour("Mine") == category_colour("Mine")
    assert category_colour("Mine").fill not in {part.fill for part in PARTS}


def test_the_ink_of_charts_can_be_read_on_paper() -> None:
    assert contrast(INK, PAPER) >= 7
