"""Quantities as text."""

import pytest

from etprof.core.errors import UsageError
from etprof.core.units import (
    format_bytes,
    format_count,
    format_ms,
    format_ns,
    format_percent,
    format_ratio,
    format_seconds,
    parse_duration,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 ms"), (0.00042, "0.0004 ms"), (0.0123, "0.012 ms"), (5.477, "5.48 ms"), (1163.2, "1,163.2 ms")],
)
def test_milliseconds_keep_their_significant_digits(value: float, text: str) -> None:
    assert format_ms(value) == text


def test_ratios_percents_bytes_and_seconds_read_as_a_person_writes_them() -> None:
    assert format_ratio(1.8666) == "1.87x"
    assert format_ratio(float("inf")) == "n/a"
    assert format_percent(0.0351) == "3.5 %"
    assert format_bytes(512) == "512 B"
    assert format_bytes(3 * 1024**2) == "3.0 MiB"
    assert format_bytes(5 * 1024**3) == "5.00 GiB"
    assert format_seconds(75) == "1 min 15 s"
    assert format_seconds(59.94) == "59.9 s"
    assert format_ns(5_477_000) == "5.48 ms"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("45", 45), (" 0.5m ", 30)])
def test_a_duration_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-5s", "5d", "s", "1m30s", "1e3"])
def test_what_is_not_a_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration") as caught:
        parse_duration(text)
    assert "90s" in caught.value.hint


def test_a_count_has_its_noun_in_the_singular_or_plural() -> None:
    assert [format_count(count, "block") for count in (0, 1, 2, 1200)] == [
        "0 blocks",
        "1 block",
        "2 blocks",
        "1,200 blocks",
    ]
