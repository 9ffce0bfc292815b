"""Mutated traces: whatever a file says, it is read or refused with a sentence, quickly and in little memory.

There are more of them with ETPROF_REQUIRE_ALL=1, and as many as ETPROF_FUZZ says. `seed` in a failure's locals
(pytest -l) then joins KEPT_SEEDS.
"""

import os
import random
import struct
import time
from pathlib import Path

import pytest

from delegate_traces import a_described_inference, a_parallel_inference, a_qnn_inference, a_vulkan_inference
from etdump_builder import Allocation, Block, build_etdump
from etprof.analysis.operators.accounting import build_accounting, build_categories
from etprof.analysis.operators.apart import list_allocations, list_apart
from etprof.analysis.operators.operator_statistics import build_operators, collect_operators
from etprof.analysis.operators.timeline import build_tracks
from etprof.core.errors import TraceError
from etprof.core.plan import Variant
from etprof.traces.etdump import read_etdump

TRACES = sorted((Path(__file__).parents[1] / "data" / "traces").glob("*.etdump"))
STARTS = [1_000_000_000 * run for run in range(1, 9)]
ALLOCATING: list[Block] = [("Execute", [Allocation(1, 64), *a_qnn_inference(start)]) for start in STARTS]
# What delegates other than XNNPACK write, metadata, allocations, and a newer schema, beside the recorded ones.
BUILT = [
    build_etdump([("Execute", a_vulkan_inference(start)) for start in STARTS]),
    build_etdump([("Execute", a_vulkan_inference(start, clock_offset=-5_000_000)) for start in STARTS]),
    build_etdump([("Execute", a_parallel_inference(start)) for start in STARTS], version=1, later_fields=True),
    build_etdump([("Execute", a_described_inference(start, b"kernel", b"\x05", b"s" * 2000)) for start in STARTS]),
    build_etdump(ALLOCATING, allocators=("one", "two")),
]
CONTENTS = [*(path.read_bytes() for path in TRACES), *BUILT]
COUNT = int(os.environ.get("ETPROF_FUZZ") or (20_000 if os.environ.get("ETPROF_REQUIRE_ALL") == "1" else 3_000))
GROUPS = 10
# Seeds that once broke the reader.
KEPT_SEEDS: tuple[int, ...] = ()
INTERESTING = (0, 1, 2, 3, 4, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


def mutate(seed: int) -> bytes:
    rng = random.Random(seed)
    data = bytearray(rng.choice(CONTENTS))
    for _ in range(rng.choice((1, 1, 2, 4, 16, 64))):
        # Most of the structure that offsets hang on stands at the beginning and at the end.
        at = rng.choice((rng.randrange(len(data)), rng.randrange(min(len(data), 256)), max(0, len(data) - 300)))
        rng.choice((_flip, _overwrite, _overwrite, _shift, _copy, _cut))(data, at, rng)
        if not data:
            break
    if len(data) >= 12 and rng.random() < 0.8:
        struct.pack_into("<I", data, 0, len(data) - 4)
        data[8:12] = b"ED00"
    return bytes(data)


def _flip(data: bytearray, at: int, rng: random.Random) -> None:
    data[at] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, at: int, rng: random.Random) -> None:
    value = rng.choice((rng.choice(INTERESTING), rng.randrange(len(data) + 1), rng.getrandbits(32)))
    at &= ~3
    data[at : at + 4] = struct.pack("<I", value)[: len(data) - at]


def _shift(data: bytearray, at: int, rng: random.Random) -> None:
    """Moves an offset by a few words, so that it still points into the file."""
    at &= ~3
    if at + 4 <= len(data):
        value = struct.unpack_from("<I", data, at)[0] + rng.randrange(-64, 65, 4)
        struct.pack_into("<I", data, at, value & 0xFFFFFFFF)


def _copy(data: bytearray, at: int, rng: random.Random) -> None:
    size = rng.randrange(1, 64)
    other = rng.randrange(len(data))
    data[at : at + size] = data[other : other + size]


def _cut(data: bytearray, at: int, rng: random.Random) -> None:
    if rng.random() < 0.2:
        del data[at:]


def survive(seed: int, path: Path) -> bool:
    """Whether the mutated file was readable; anything but success or a TraceError fails the test."""
    path.write_bytes(mutate(seed))
    try:
        trace = read_etdump(path)
    except TraceError:
        return False
    accounting = build_accounting([trace])
    assert (
        sum(row.total_ns for row in build_categories(collect_operators([trace]), build_accounting([trace])))
        == accounting.end_to_end_ns
    )
    build_operators([trace])
    list_apart([trace])
    list_allocations([trace])
    build_tracks(Variant("on", 1), [trace])
    return True


@pytest.mark.parametrize("group", range(GROUPS))
def test_mutated_files_are_read_or_refused(group: int, tmp_path: Path) -> None:
    seeds = [seed for seed in (*KEPT_SEEDS, *range(COUNT)) if seed % GROUPS == group]
    readable = 0
    for seed in seeds:
        start = time.monotonic()
        readable += survive(seed, tmp_path / "mutated.etdump")
        assert time.monotonic() - start < 5, f"seed {seed} took too long"
    # A mutation that never survives the first check would test nothing behind it.
    assert 0.02 < readable / len(seeds) < 0.98
