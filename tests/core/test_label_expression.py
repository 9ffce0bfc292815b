"""Devices are chosen by labels, with the usual rules of and, or, not and parentheses; nothing is evaluated."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etprof.core.errors import UsageError
from etprof.core.label_expression import parse_labels

PHONE = {"android", "sme2", "8-cores", "android:1A2B"}
BOARD = {"ssh", "i8mm", "4-cores", "ssh:me@board:22"}


@pytest.mark.parametrize(
    ("text", "phone", "board"),
    [
        ("", True, True),
        ("sme2", True, False),
        ("sme2 and android", True, False),
        ("sme2 or i8mm", True, True),
        ("not sme2", False, True),
        ("not not sme2", True, False),
        ("ssh or android and i8mm", False, True),
        ("(ssh or android) and not i8mm", True, False),
        ("SME2", False, False),
        ("sme2 AND android", True, False),
        ("ssh:me@board:22", False, True),
        ("8-cores or 4-cores", True, True),
    ],
)
def test_it_matches_as_it_reads(text: str, phone: bool, board: bool) -> None:
    expression = parse_labels(text)
    assert (expression.matches(PHONE), expression.matches(BOARD)) == (phone, board)


def test_it_knows_its_labels() -> None:
    assert parse_labels("a and not (b or c)").labels == {"a", "b", "c"}


@pytest.mark.parametrize("text", ["and", "sme2 and", "(sme2", "sme2)", "sme2 android", "a & b", "not", "()", "a;b"])
def test_what_cannot_be_read_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(UsageError, match="does not choose devices") as error:
        parse_labels(text)
    assert "--on '" in error.value.hint


def test_a_deep_one_is_refused_before_it_exhausts_anything() -> None:
    with pytest.raises(UsageError, match="more than 200 words"):
        parse_labels("not " * 100_000 + "a")


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(UsageError):
        parse_labels(text).matches(PHONE)
