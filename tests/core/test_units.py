"""Quantities as text."""

import pytest

from etprof.core.units import format_bytes, format_ms, format_percent, format_ratio, format_seconds


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
    assert format_seconds(75) == "1 min 15 s"
