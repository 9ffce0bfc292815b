"""Allocations of a trace, and traces of a newer schema: what is known is read, and what is not is said."""

from pathlib import Path

import numpy as np
import pytest

from etdump_builder import Allocation, Block, Event, UnknownEvent, build_etdump
from etprof.analysis.operators.apart import list_allocations
from etprof.core.errors import TraceError
from etprof.core.findings import FindingKind
from etprof.core.trace import Trace
from etprof.traces import etdump
from etprof.traces.etdump import read_etdump
from trace_builder import an_inference

ALLOCATORS = ("method", "planned memory")
RUNS = 12


def inference(run: int) -> tuple[Event, ...]:
    return an_inference([("Conv #1", 50), ("Add #1", 10)], start_us=1000 * run)


def blocks_with_allocations(*sizes: int) -> list[Block]:
    """One outside of inferences, and one in each inference."""
    blocks: list[Block] = [("Default", [Allocation(1, 4096), Event("Method::init", 0, 1)])]
    for run, size in enumerate(sizes):
        first, *others = inference(run)
        blocks.append(("Execute", [first, Allocation(2, size), *others]))
    return blocks


def read(path: Path, content: bytes) -> Trace:
    path.write_bytes(content)
    return read_etdump(path)


def test_allocations_are_read_with_their_allocator_and_inference(tmp_path: Path) -> None:
    trace = read(tmp_path / "a.etdump", build_etdump(blocks_with_allocations(100, 300), allocators=ALLOCATORS))
    found = trace.allocations
    assert [found.names[number] for number in found.allocator] == ["method", "planned memory", "planned memory"]
    assert found.run.tolist() == [-1, 0, 1]
    assert found.size_bytes.tolist() == [4096, 100, 300]
    method, planned = list_allocations([trace])
    assert (method.allocator, method.bytes_per_inference, method.bytes_outside) == ("method", 0, 4096)
    assert (planned.allocations_per_inference, planned.bytes_per_inference, planned.bytes_outside) == (1, 200, 0)
    assert trace.notes == ()


def test_an_allocator_that_the_block_does_not_name_is_numbered(tmp_path: Path) -> None:
    trace = read(tmp_path / "a.etdump", build_etdump(blocks_with_allocations(8)))
    assert {row.allocator for row in list_allocations([trace])} == {"allocator 1", "allocator 2"}


@pytest.mark.parametrize("sizes", [(64,) * RUNS, (64, 65) * (RUNS // 2)], ids=["the same", "different"])
def test_repeated_inferences_have_their_allocations(
    tmp_path: Path, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = build_etdump(blocks_with_allocations(*sizes), allocators=ALLOCATORS)
    trace = read(tmp_path / "a.etdump", content)
    assert trace.allocations.size_bytes.tolist() == [4096, *sizes]
    assert trace.allocations.run.tolist() == [-1, *range(RUNS)]
    monkeypatch.setattr(etdump, "find_stretch", lambda *_: None)
    plain = read(tmp_path / "b.etdump", content)
    for column in ("allocator", "run", "size_bytes"):
        assert np.array_equal(getattr(plain.allocations, column), getattr(trace.allocations, column))


@pytest.mark.parametrize("varies", [False, True])
def test_repeated_inferences_have_their_metadata(tmp_path: Path, varies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def describe(run: int) -> bytes:
        return b"kernel; %02d" % (run if varies else 0)

    blocks = [
        ("Execute", [Event("Conv #1", 10, 20, 0, delegated=True, metadata=describe(run)), *inference(0)[2:]])
        for run in range(RUNS)
    ]
    content = build_etdump(blocks)
    trace = read(tmp_path / "a.etdump", content)
    assert [trace.metadata.of(row) for row in trace.metadata.row] == [describe(run).decode() for run in range(RUNS)]
    monkeypatch.setattr(etdump, "find_stretch", lambda *_: None)
    plain = read(tmp_path / "b.etdump", content)
    assert [plain.metadata.of(row) for row in range(len(plain))] == [trace.metadata.of(r) for r in range(len(trace))]


def test_a_trace_of_a_newer_schema_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    blocks: list[Block] = [("Execute", [UnknownEvent(), *inference(run)]) for run in range(2)]
    known = read(tmp_path / "known.etdump", build_etdump([("Execute", inference(run)) for run in range(2)]))
    newer = read(tmp_path / "newer.etdump", build_etdump(blocks, version=3, later_fields=True))
    for column in ("kind", "run", "position", "start_ns", "duration_ns", "signature"):
        assert np.array_equal(getattr(newer, column), getattr(known, column)), column
    (finding,) = newer.findings
    assert finding.kind is FindingKind.NEWER_TRACE
    assert "its schema has version 3, and 0 is known" in finding.message
    assert "unknown fields in Event, ProfileEvent, RunData" in finding.message
    assert "2 events are of an unknown type" in finding.message
    assert newer.notes == (finding.message,)
    assert known.notes == ()


def test_an_allocation_out_of_range_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="an allocation is out of range"):
        read(tmp_path / "a.etdump", build_etdump(blocks_with_allocations(1 << 63), allocators=ALLOCATORS))
