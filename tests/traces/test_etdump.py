"""The reader of ETDump, on traces that the real runtime recorded and on files that no runtime would write."""

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etdump_builder import DebugEvent, Event, build_etdump
from etprof.analysis.operators.accounting import account_runs
from etprof.core.errors import TraceError
from etprof.core.trace import EventKind
from etprof.traces.etdump import read_etdump
from etprof.traces.name_table import LONGEST_NAME
from trace_builder import RECORDED, read_blocks, recorded

pytestmark = pytest.mark.portable

INFERENCE = (
    Event("Conv #1", 110, 150, 0, delegated=True),
    Event("Add #1", 150, 160, 0, delegated=True),
    Event("DELEGATE_CALL", 105, 170, 0),
    Event("native_call_mean.out", 180, 190, 1),
    Event("OPERATOR_CALL", 175, 195, 1),
    Event("Conv #1", 200, 200, 2, delegated=True),
    Event("DELEGATE_CALL", 198, 205, 2),
    Event("Method::execute", 100, 210),
)


@pytest.mark.parametrize("name", RECORDED)
def test_every_run_has_one_whole_and_its_rows_lie_in_it(name: str) -> None:
    trace = recorded(name)
    wholes = np.flatnonzero(trace.kind == EventKind.EXECUTE)
    assert trace.run[wholes].tolist() == list(range(trace.run_count))
    inside = np.flatnonzero(trace.run >= 0)
    whole = wholes[trace.run[inside]]
    assert np.all(trace.start_ns[inside] >= trace.start_ns[whole])
    end = trace.start_ns + trace.duration_ns
    assert np.all(end[inside] <= end[whole])


@pytest.mark.parametrize("name", RECORDED)
def test_every_operator_of_a_run_has_an_identity_of_its_own(name: str) -> None:
    trace = recorded(name)
    is_operator = (trace.position >= 0) & (trace.run == 0)
    identities = list(
        zip(
            trace.kind[is_operator].tolist(),
            trace.delegate_call[is_operator].tolist(),
            trace.position[is_operator].tolist(),
            strict=True,
        )
    )
    assert len(identities) > 0
    assert len(set(identities)) == len(identities)


def test_kinds_calls_and_positions_are_settled_by_the_reader(tmp_path: Path) -> None:
    trace = read_blocks(
        tmp_path, ("Default", [Event("Method::init", 1, 5)]), ("Execute", INFERENCE), ("Execute", INFERENCE)
    )
    kinds = EventKind
    one_run = [
        (kinds.DELEGATED_OPERATOR, 0, 0),
        (kinds.DELEGATED_OPERATOR, 0, 1),
        (kinds.DELEGATE_CALL, 0, -1),
        (kinds.PORTABLE_OPERATOR, -1, 0),
        (kinds.OPERATOR_CALL, -1, -1),
        (kinds.DELEGATED_OPERATOR, 1, 0),
        (kinds.DELEGATE_CALL, 1, -1),
        (kinds.EXECUTE, -1, -1),
    ]
    rows = list(zip(trace.kind.tolist(), trace.delegate_call.tolist(), trace.position.tolist(), strict=True))
    assert rows == [(kinds.SETUP, -1, -1), *one_run, *one_run]
    assert trace.run.tolist() == [-1] + [0] * 8 + [1] * 8
    assert trace.signature.tolist() == [0, 0]
    assert trace.notes == ()
    assert trace.block_names == ("Default", "Execute", "Execute")


def test_a_file_without_size_prefix_reads_the_same(tmp_path: Path) -> None:
    with_prefix = read_blocks(tmp_path, ("Execute", INFERENCE))
    without = read_blocks(tmp_path, ("Execute", INFERENCE), size_prefix=False)
    assert without.duration_ns.tolist() == with_prefix.duration_ns.tolist()
    assert without.names == with_prefix.names


def test_equal_names_are_one_name_and_similar_names_are_two(tmp_path: Path) -> None:
    names = ["a", "ab", "abc", "abcd", "abcde", "abcd\0", "a", "abcd", "é" * 3, ""]
    trace = read_blocks(tmp_path, ("Execute", [Event(name, 1, 2, delegated=True) for name in names]))
    assert [trace.names[number] for number in trace.name] == names
    assert len(trace.names) == 8


def test_strings_that_share_a_hash_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etprof.traces.name_table._hash", lambda words, length: np.zeros(len(length), np.uint64))
    names = ["one", "two", "three", "two"]
    trace = read_blocks(tmp_path, ("Execute", [Event(name, 1, 2, delegated=True) for name in names]))
    assert [trace.names[number] for number in trace.name] == names


def test_a_backend_that_numbers_its_operators_is_read_by_number(tmp_path: Path) -> None:
    events = [Event(None, 1, 2, delegate_id=7), Event("DELEGATE_CALL", 0, 3), Event("Method::execute", 0, 4)]
    trace = read_blocks(tmp_path, ("Execute", events))
    assert trace.names[trace.name[0]] == "delegate id 7"
    assert trace.kind[0] == EventKind.DELEGATED_OPERATOR


def test_an_operator_call_around_nothing_is_the_operator_itself(tmp_path: Path) -> None:
    trace = read_blocks(tmp_path, ("Execute", [Event("OPERATOR_CALL", 101, 103, 9), *INFERENCE]))
    assert trace.kind[0] == EventKind.PORTABLE_OPERATOR
    assert np.count_nonzero(trace.kind == EventKind.OPERATOR_CALL) == 1


def test_a_run_that_failed_is_left_out_and_said() -> None:
    trace = recorded("failed_run")
    assert trace.run_count == 3
    lost = np.flatnonzero((trace.run < 0) & (trace.kind != EventKind.SETUP))
    assert [trace.names[n] for n in trace.name[lost]] == ["native_call_embedding.out", "OPERATOR_CALL"]
    assert "2 events belong to no complete inference" in trace.notes[0]


def test_a_trace_that_ends_in_the_middle_of_a_run_keeps_the_runs_before(tmp_path: Path) -> None:
    trace = read_blocks(tmp_path, ("Execute", INFERENCE), ("Execute", INFERENCE[:4]))
    assert trace.run_count == 1
    assert trace.run.tolist() == [0] * 8 + [-1] * 4
    assert "cut off" in trace.notes[0]


def test_two_methods_are_two_signatures_and_said() -> None:
    trace = recorded("two_methods")
    assert trace.signature.tolist() == [0, 1, 0, 1, 0, 1]
    assert "2 kinds" in trace.notes[0]


def test_several_runs_in_one_block_are_told_apart(tmp_path: Path) -> None:
    trace = read_blocks(tmp_path, ("Default", [*INFERENCE, *INFERENCE]))
    assert trace.run.tolist() == [0] * 8 + [1] * 8


def test_unknown_and_debug_events_are_said(tmp_path: Path) -> None:
    trace = read_blocks(tmp_path, ("Execute", [Event("my own timer", 120, 130), DebugEvent(), *INFERENCE]))
    assert trace.kind[0] == EventKind.OTHER
    assert len(trace) == 9
    assert "'my own timer'" in trace.notes[0]
    assert "1 debug events" in trace.notes[1]


def test_an_operator_outside_its_delegate_call_is_said(tmp_path: Path) -> None:
    events = [Event("Conv #1", 110, 120, 5, delegated=True), *INFERENCE[2:]]
    trace = read_blocks(tmp_path, ("Execute", events))
    assert trace.delegate_call[0] == -1
    assert "outside any DELEGATE_CALL" in trace.notes[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"ED00", "is not an ETDump"),
        (b"\x1c\0\0\0ET12" + bytes(60), r"looks like an ExecuTorch program \(.pte\)"),
        (b"PK\x03\x04" + bytes(60), "looks like a zip archive"),
        (b"some text that is long enough", "its identifier is b't th'"),
        (build_etdump([("Execute", INFERENCE)])[:-40], "is cut off: it holds [0-9]+ of [0-9]+ bytes"),
        (build_etdump([]), "holds no profile event"),
        (build_etdump([("Execute", [DebugEvent()])]), "holds no profile event"),
        (build_etdump([("Execute", [Event("x", 9, 5)])]), "ends before it starts"),
        (build_etdump([("Execute", [Event("x", 0, 1 << 63)])]), "time stamp is out of range"),
        (build_etdump([("Execute", [Event("x", 0, 1 << 61)] * 4)]), "durations are out of range"),
        (build_etdump([("Execute", [Event("n" * (LONGEST_NAME + 1), 1, 2)])]), "longer than 1024 bytes"),
    ],
)
def test_what_is_no_trace_is_refused_with_one_sentence(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.etdump"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message) as caught:
        read_etdump(path)
    assert caught.value.hint


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="There is no trace at"):
        read_etdump(tmp_path / "absent.etdump")


def test_blocks_that_share_one_list_of_events_do_not_multiply_it(tmp_path: Path) -> None:
    """A file of kilobytes must not become a million rows."""
    data = bytearray(build_etdump([("Empty", ())] * 999 + [("Execute", [Event("x", 1, 2)] * 1000)]))

    def u32(at: int) -> int:
        return int(struct.unpack_from("<I", data, at)[0])

    root = 4 + u32(4)
    field = root + struct.unpack_from("<H", data, root - u32(root) + 6)[0]
    entries = field + u32(field) + 4
    last = entries + 4 * 999
    for entry in range(entries, last, 4):
        struct.pack_into("<I", data, entry, last + u32(last) - entry)
    path = tmp_path / "shared.etdump"
    path.write_bytes(data)
    with pytest.raises(TraceError, match="1,000,000 events do not fit"):
        read_etdump(path)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 0xFFFE, "a vtable ends beyond its end"),
        (0, 2, "a vtable is too short"),
        (2, 0xFFFC, "a table ends beyond its end"),
        (2, 4, "a field lies outside its table"),
    ],
)
def test_a_vtable_that_lies_is_refused(tmp_path: Path, at: int, value: int, message: str) -> None:
    data = bytearray(build_etdump([("Execute", INFERENCE)]))
    root = 4 + struct.unpack_from("<I", data, 4)[0]
    vtable = root - struct.unpack_from("<i", data, root)[0]
    struct.pack_into("<H", data, vtable + at, value)
    path = tmp_path / "lying.etdump"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=message):
        read_etdump(path)


def test_names_that_overlap_to_say_more_than_the_file_are_refused(tmp_path: Path) -> None:
    """Each name is a length and what follows it: shifted by a word, hundreds of long names fit into one kilobyte."""
    data = bytearray(build_etdump([("Execute", [Event("x", 1, 2)] * 400)]))
    text = len(data) + -len(data) % 4
    data += bytes(text - len(data)) + struct.pack("<I", 1000) * 900
    for event in range(400):
        field = data.index(b"\x01\0\0\0x\0", 40)
        data[field : field + 4] = struct.pack("<I", 0)
        pointer = next(at for at in range(field - 4, 0, -4) if struct.unpack_from("<I", data, at)[0] == field - at)
        struct.pack_into("<I", data, pointer, text + 4 * event - pointer)
        struct.pack_into("<I", data, text + 4 * event, 1000 - event % 7)
    struct.pack_into("<I", data, 0, len(data) - 4)
    path = tmp_path / "overlap.etdump"
    path.write_bytes(data)
    with pytest.raises(TraceError, match="its names overlap"):
        read_etdump(path)


texts = st.text(max_size=40)
events = st.builds(
    Event,
    name=st.one_of(
        texts, st.sampled_from(["DELEGATE_CALL", "OPERATOR_CALL", "native_call_add.out", "Method::execute"])
    ),
    start=st.integers(0, 1000),
    end=st.integers(1000, 1 << 40),
    instruction=st.integers(-1, 5),
    delegated=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(st.tuples(texts, st.lists(events, max_size=12)), min_size=1, max_size=6), st.booleans())
def test_whatever_is_written_is_read_back(blocks: list[tuple[str, list[Event]]], size_prefix: bool) -> None:
    written = [(name, event) for name, block in blocks for event in block]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.etdump"
        path.write_bytes(build_etdump(blocks, size_prefix=size_prefix))
        if not written:
            with pytest.raises(TraceError, match="no profile event"):
                read_etdump(path)
            return
        trace = read_etdump(path)
    assert [trace.block_names[block] for block in trace.block] == [name for name, _ in written]
    assert [trace.names[name] for name in trace.name] == [event.name for _, event in written]
    assert trace.start_ns.tolist() == [event.start for _, event in written]
    assert trace.duration_ns.tolist() == [event.end - event.start for _, event in written]
    assert trace.instruction.tolist() == [event.instruction for _, event in written]
    is_delegated = (trace.kind == EventKind.DELEGATED_OPERATOR) | trace.is_apart
    assert is_delegated.tolist() == [event.delegated for _, event in written]
    accounts = account_runs(trace)
    overheads = accounts.delegate_overhead + accounts.framework_overhead
    parts = accounts.delegated + accounts.portable + accounts.undivided + overheads
    assert parts.tolist() == accounts.end_to_end.tolist()
