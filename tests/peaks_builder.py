"""Peaks for tests: an x86 CPU of round numbers, and a runner's answer that gives them."""

import json
from collections.abc import Mapping
from typing import Any

from etprof.core.estimates import Interval
from etprof.core.peaks import Bandwidth, Peaks, Throughput

CACHES = {"L1": 32_768, "L2": 1_048_576, "last level": 33_554_432}
# Multiply-adds and bytes on one thread, in billions a second; two threads do twice as much, except from memory.
GMACS = {"sse_fp32": 25.0, "avx2_fp32": 50.0, "avx512_fp32": 100.0, "avx2_int8": 100.0, "avx512_vnni_int8": 400.0}
GBYTES = {"L1": 200.0, "L2": 100.0, "last level": 50.0, "memory": 20.0}


def exactly(value: float) -> Interval:
    return Interval(value, value, value)


def some_peaks(gmacs: Mapping[str, float] = GMACS, architecture: str = "x86_64") -> Peaks:
    return Peaks(
        architecture=architecture,
        measured_at="2026-01-02T00:00:00+00:00",
        clock_ghz=exactly(3.0),
        cache_bytes=CACHES,
        throughputs=tuple(Throughput(n, t, exactly(t * rate)) for t in (1, 2) for n, rate in gmacs.items()),
        bandwidths=tuple(
            Bandwidth(level, access, t, exactly(rate * (t if level != "memory" else 1) * factor))
            for t in (1, 2)
            for level, rate in GBYTES.items()
            for access, factor in (("read", 1.0), ("write", 0.5), ("copy", 0.75))
        ),
    )


def an_answer(**changes: Any) -> str:
    """What a runner writes: three passes of a loop, of the clock and of a level of the memory."""
    whole = {
        "schema_version": 1,
        "caches": CACHES,
        "checked": [{"name": "avx2_fp32", "instructions": 2400, "macs": 19200, "sum": 19200}],
        "measured": [
            {"loop": "avx2_fp32", "threads": 1, "rates": [57.0, 30.0, 56.0]},
            {"loop": "clock", "threads": 1, "rates": [3.5, 3.6, 3.6]},
            {"loop": "of_tomorrow", "threads": 1, "rates": [1.0]},
            {"level": "L1", "access": "read", "threads": 1, "rates": [200.0, 210.0, 190.0]},
        ],
    }
    return json.dumps(whole | changes)
