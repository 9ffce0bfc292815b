"""Inferences that repeat one another are read at once, and give what reading every offset gives."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etdump_builder import Event, build_etdump
from etprof.core.errors import TraceError
from etprof.core.trace import Trace
from etprof.traces import etdump
from etprof.traces.etdump import read_etdump
from etprof.traces.repeated_runs import find_stretch

TRACES = sorted((Path(__file__).parents[1] / "data" / "traces").glob("*.etdump"))
COLUMNS = ("kind", "block", "run", "delegate_call", "position", "instruction", "start_ns", "duration_ns", "signature")
RUNS = 12


def an_etdump(path: Path, *, odd_run: int | None = None) -> Path:
    """Blocks of three events each; those of the odd one have other names of the same length."""
    blocks = []
    for run in range(RUNS):
        start = 1000 * run
        name = "Other (NC)" if run == odd_run else "Clamp (NC)"
        operator = Event(name, start + 10, start + 50 + run, instruction=0, delegated=True)
        call = Event("DELEGATE_CALL", start + 5, start + 90, instruction=0)
        blocks.append(("Execute", [operator, call, Event("Method::execute", start, start + 100)]))
    path.write_bytes(build_etdump(blocks))
    return path


def read_plainly(path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    with monkeypatch.context() as patched:
        patched.setattr(etdump, "find_stretch", lambda *_: None)
        return read_etdump(path)


def assert_same(one: Trace, other: Trace) -> None:
    for column in COLUMNS:
        assert np.array_equal(getattr(one, column), getattr(other, column)), column
    assert [one.names[n] for n in one.name] == [other.names[n] for n in other.name]
    assert one.notes == other.notes


def count_stretches(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each stretch that was tried was read at once."""
    tried: list[bool] = []
    read = etdump._read_stretch

    def watch(*given: Any) -> bool:
        tried.append(read(*given))
        return tried[-1]

    monkeypatch.setattr(etdump, "_read_stretch", watch)
    return tried


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_recorded_trace_reads_the_same_both_ways(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_same(read_etdump(path), read_plainly(path, monkeypatch))


def test_some_recorded_traces_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = count_stretches(monkeypatch)
    for path in TRACES:
        read_etdump(path)
    assert any(tried)


def test_a_block_with_other_names_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = an_etdump(tmp_path / "odd.etdump", odd_run=RUNS - 2)
    tried = count_stretches(monkeypatch)
    trace = read_etdump(path)
    assert True not in tried
    assert [trace.names[n] for n in trace.name].count("Other (NC)") == 1
    assert_same(trace, read_plainly(path, monkeypatch))


def test_a_changed_byte_in_any_repeated_block_reads_as_it_does_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every word of a recorded trace that is read at once, changed in turn."""
    original = next(path for path in TRACES if path.stem == "small_cnn").read_bytes()
    changed = tmp_path / "changed.etdump"
    for at in range(12, len(original) - 4, 52):
        data = bytearray(original)
        struct.pack_into("<I", data, at, struct.unpack_from("<I", data, at)[0] ^ 0x44)
        changed.write_bytes(data)
        outcomes: list[Trace | str] = []
        for read in (read_etdump, lambda path: read_plainly(path, monkeypatch)):
            try:
                outcomes.append(read(changed))
            except TraceError as error:
                outcomes.append(error.message)
        if isinstance(outcomes[0], Trace) and isinstance(outcomes[1], Trace):
            assert_same(outcomes[0], outcomes[1])
        else:
            assert outcomes[0] == outcomes[1], at


def test_a_stretch_begins_behind_the_block_that_brings_the_vtables() -> None:
    first = np.array([900, 700, 612, 524, 436, 348, 260], np.int64)
    found = find_stretch(first, np.array([2, 5, 5, 5, 5, 5, 5], np.int64))
    assert found is not None
    assert (found.first, found.last, found.distance) == (2, 7, -88)


@pytest.mark.parametrize(
    ("first", "count"),
    [
        ([0, 88, 176], [5, 5, 5]),
        ([0, 88, 176, 264, 352, 440], [5, 5, 5, 5, 5, 4]),
        ([0, 90, 180, 270, 360, 450], [5] * 6),
        ([0, 88, 176, 264, 352, 440], [0] * 6),
    ],
    ids=["too few", "other sizes", "not aligned", "empty"],
)
def test_what_does_not_repeat_is_no_stretch(first: list[int], count: list[int]) -> None:
    assert find_stretch(np.array(first, np.int64), np.array(count, np.int64)) is None
