"""How quantities become text: one unit inside (nanoseconds, bytes, ratios), formatting only at the edge."""

import math
import re
from collections.abc import Iterable

from etprof.core.errors import UsageError

# In place of the times of an emulated device.
NO_TIMES = "emulated: times not meaningful"
NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


def format_ms(value_ms: float) -> str:
    """Milliseconds with three significant digits or better, so that 0.0042 ms does not become 0.00."""
    magnitude = abs(value_ms)
    if magnitude == 0:
        return "0 ms"
    if magnitude >= 100:
        return f"{value_ms:,.1f} ms"
    if magnitude >= 1:
        return f"{value_ms:.2f} ms"
    return f"{value_ms:.3f} ms" if magnitude >= 0.01 else f"{value_ms:.4f} ms"


def format_ns(value_ns: float) -> str:
    return format_ms(value_ns / NS_PER_MS)


def format_percent(share: float, digits: int = 1) -> str:
    return f"{share * 100:.{digits}f} %"


def format_ratio(ratio: float) -> str:
    if not math.isfinite(ratio):
        return "n/a"
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:.0f}x"


def format_count(count: int, noun: str) -> str:
    """1 block, 2 blocks; for nouns whose plural ends in s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def format_macs(count: int | None) -> str:
    """Multiply-accumulates with three digits; nothing for none, since most operators have none."""
    if count is None:
        return "unknown"
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if count >= size:
            return f"{_three_digits(count / size)} {unit}"
    return str(count) if count else ""


def format_rate(rate: float | None) -> str:
    """Three digits, and nothing where there is no rate."""
    return "" if rate is None else _three_digits(rate)


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def parse_duration(text: str) -> float:
    """Seconds from 90s, 10m, 1h or a plain number of seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if not found or float(found[1]) <= 0:
        raise UsageError(f"{text!r} is not a duration.", hint="Write 90s, 10m or 1h.")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def spell_shape(shape: Iterable[int]) -> str:
    """As runners take the shape of an input: 1x3x224x224, or scalar."""
    return "x".join(map(str, shape)) or "scalar"


def format_seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
