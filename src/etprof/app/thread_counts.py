"""The thread counts of a profile: as a user names them, or as a device suggests them."""

import re
from collections.abc import Iterable

from etprof.core.errors import UsageError
from etprof.core.run import DeviceInfo

AUTO = "auto"
_HINT = "Write a number, several such as 1,2,4, or auto."


def parse_threads(given: str | int | Iterable[int]) -> tuple[int, ...]:
    """Thread counts in their order, each once; none for `auto`: those that `suggest_threads` has for the device."""
    if given == AUTO:
        return ()
    if isinstance(given, str):
        if not re.fullmatch(r"\s*\d+(\s*,\s*\d+)*\s*", given):
            raise UsageError(f"threads is {given!r}.", hint=_HINT)
        counts = [int(text) for text in given.split(",")]
    else:
        counts = [given] if isinstance(given, int) else list(given)
    if not counts or min(counts) < 1:
        raise UsageError(f"threads is {given!r}.", hint=f"{_HINT} The fewest is 1.")
    return tuple(sorted(set(counts)))


def suggest_threads(info: DeviceInfo) -> tuple[int, ...]:
    """1, 2, 4 and so on up to the usable cores, and as many as there are SME units and performance cores.

    Where times mean nothing, one thread shows what runs.
    """
    if not info.times_are_real:
        return (1,)
    powers = [1 << exponent for exponent in range(info.cpu_count.bit_length())]
    known = [info.sme_units.count if info.sme_units else None, info.performance_cores]
    counts = {*powers, info.cpu_count, *(count for count in known if count)}
    return tuple(sorted(count for count in counts if count <= info.cpu_count))
