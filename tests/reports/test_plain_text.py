"""Text from models and devices: letters of every language stay, and nothing is left that steers a terminal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etprof.reports.plain_text import printable


@pytest.mark.parametrize("text", ["Add (ND) #1", "é ß 漢字 \U0001f680", ""])
def test_letters_stay_as_they_are(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("sign", ["\x1b", "\r", "\x9b", "\u202e", "\ud800", "\x7f", "\u2028"])
def test_what_steers_a_terminal_is_replaced(sign: str) -> None:
    assert printable(f"a{sign}b") == "a\ufffdb"


@settings(deadline=None)
@given(st.text())
def test_whatever_comes_in_can_be_printed_and_has_its_length(text: str) -> None:
    found = printable(text)
    assert found.isprintable()
    assert len(found) == len(text)
