"""FlatBuffers read by arrays of positions: fields that are there and left out, and offsets that lie."""

import struct
from pathlib import Path

import numpy as np
import pytest

from etdump_builder import Writer
from etprof.core.errors import TraceError
from etprof.traces.flatbuffer import Buffer, Positions

# At 0 the offset of the table at 16; at 4 its vtable: of 10 bytes, for a table of 16, with the slots of three fields:
# the first at 4, the second left out, the third at 8. Behind the table, at 32, a vector of three bytes.
SMALL = (
    struct.pack("<I", 16)
    + struct.pack("<HHHHH", 10, 16, 4, 0, 8)
    + bytes(2)
    + struct.pack("<iiQ", 16 - 4, -7, 1 << 40)
    + struct.pack("<I", 3)
    + b"abc"
)


def at(*positions: int) -> Positions:
    return np.array(positions, np.int64)


def write(folder: Path, data: bytes) -> Buffer:
    path = folder / "some.bin"
    path.write_bytes(data)
    return Buffer(path)


def test_fields_are_found_through_the_vtable(tmp_path: Path) -> None:
    buffer = write(tmp_path, SMALL)
    assert buffer.size == len(SMALL)
    root = buffer.follow(at(0))
    assert root.tolist() == [16]
    tables = buffer.tables(root)
    assert len(tables) == 1
    first, left_out, third, unknown = (buffer.field(tables, index, 4) for index in range(4))
    assert (first.tolist(), left_out.tolist(), third.tolist(), unknown.tolist()) == ([20], [0], [24], [0])
    assert buffer.int32(first, default=5).tolist() == [-7]
    assert buffer.int32(left_out, default=5).tolist() == [5]
    assert buffer.uint64(third).tolist() == [1 << 40]
    assert buffer.uint64(left_out).tolist() == [0]


def test_a_vector_is_its_first_item_and_its_length(tmp_path: Path) -> None:
    first, length = write(tmp_path, SMALL).vectors(at(32), 1)
    assert (first.tolist(), length.tolist()) == ([36], [3])


def test_many_positions_are_read_at_once_and_none_is_fine(tmp_path: Path) -> None:
    buffer = write(tmp_path, SMALL)
    tables = buffer.tables(at(16, 16))
    assert buffer.int32(buffer.field(tables, 0, 4), 0).tolist() == [-7, -7]
    nothing = at()
    assert len(buffer.follow(nothing)) == len(buffer.tables(nothing)) == 0
    assert [part.tolist() for part in buffer.vectors(nothing, 4)] == [[], []]


def test_lists_are_read_for_each_table_and_none_may_be_shared_by_many(tmp_path: Path) -> None:
    writer = Writer(bytearray())
    holes = writer.hole(), writer.hole()
    for hole, numbers in zip(holes, [(3, 4, 2**32 - 1), ()], strict=True):
        fields = writer.table(hole, {0: 4} if numbers else {})
        for place, number in zip(writer.vector(fields[0], len(numbers)) if numbers else [], numbers, strict=True):
            struct.pack_into("<I", writer.data, place, number)
    buffer = write(tmp_path, bytes(writer.data))
    first, second = buffer.follow(at(*holes)).tolist()
    assert buffer.lists_in(buffer.tables(at(first, second)), 0) == [(3, 4, 2**32 - 1), ()]
    with pytest.raises(TraceError, match="its lists are longer than the file"):
        buffer.lists_in(buffer.tables(at(*[first] * 1000)), 0)


def test_a_part_of_a_file_is_a_buffer_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(b"before" + SMALL + b"after")
    buffer = Buffer(path, len(SMALL), start=6)
    assert buffer.int32(buffer.field(buffer.tables(buffer.follow(at(0))), 0, 4), 0).tolist() == [-7]
    with pytest.raises(TraceError, match="it is cut off"):
        Buffer(path, len(SMALL) + 6, start=6)


def with_word(where: int, value: int) -> bytes:
    return SMALL[:where] + struct.pack("<I", value) + SMALL[where + 4 :]


def read_all(buffer: Buffer) -> None:
    tables = buffer.tables(buffer.follow(at(0)))
    for index, width in ((0, 4), (2, 8)):
        buffer.field(tables, index, width)
    buffer.vectors(at(32), 1)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (with_word(0, len(SMALL)), "an offset points beyond its end"),
        (with_word(0, 18), "an offset is not aligned"),
        (with_word(16, 0x7FFFFFFF), "a table has no valid vtable"),
        (with_word(16, 16 - 5), "a table has no valid vtable"),
        (with_word(4, 10 | 200 << 16), "a table ends beyond its end"),
        (with_word(4, 2 | 16 << 16), "a vtable is too short"),
        (with_word(4, 200 | 16 << 16), "a vtable ends beyond its end"),
        (with_word(8, 14), "a field lies outside its table"),
        (with_word(8, 5), "a field is not aligned"),
        (with_word(32, 4), "a list ends beyond its end"),
    ],
)
def test_whatever_lies_is_refused_with_the_files_name(data: bytes, problem: str, tmp_path: Path) -> None:
    read_all(write(tmp_path, SMALL))
    with pytest.raises(TraceError, match=f"some.bin is damaged: {problem}") as caught:
        read_all(write(tmp_path, data))
    assert caught.value.hint


def test_a_field_that_only_some_tables_have_may_be_wider_than_the_others(tmp_path: Path) -> None:
    writer = Writer(bytearray(8))
    for entry, widths in zip(writer.vector(0, 2), ({0: 8}, {}), strict=True):
        writer.table(entry, widths)
    buffer = write(tmp_path, bytes(writer.data))
    first, length = buffer.vectors(buffer.follow(at(0)), 4)
    tables = buffer.tables(buffer.follow(first[0] + 4 * np.arange(length[0])))
    assert (buffer.field(tables, 0, 8) > 0).tolist() == [True, False]


def test_other_data_may_follow_and_a_flatbuffer_that_ends_too_early_is_said(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(SMALL + b"more")
    assert Buffer(path, len(SMALL)).size == len(SMALL)
    with pytest.raises(TraceError, match="it is cut off"):
        Buffer(path, len(SMALL) + 5)
