"""Names of events: equal strings have equal numbers, similar ones do not, and no file can claim endless ones."""

import struct
from pathlib import Path

import numpy as np
import pytest

from etprof.core.errors import TraceError
from etprof.traces.flatbuffer import Buffer
from etprof.traces.name_table import LONGEST_NAME, NameTable


def write(folder: Path, *names: bytes, spare: int = 0) -> tuple[Buffer, list[int]]:
    """A file of nothing but strings, and where each begins."""
    data, places = bytearray(), []
    for name in names:
        places.append(len(data))
        data += struct.pack("<I", len(name)) + name
        data += bytes(-len(data) % 4)
    path = folder / "names.bin"
    path.write_bytes(bytes(data) + bytes(spare))
    return Buffer(path), places


def intern(table: NameTable, places: list[int]) -> list[int]:
    numbers: list[int] = table.intern(np.array(places, np.int64)).tolist()
    return numbers


def test_equal_strings_have_one_number_across_calls(tmp_path: Path) -> None:
    buffer, places = write(tmp_path, b"conv", b"add", b"conv", b"", b"convolution", b"add")
    table = NameTable(buffer)
    numbers = intern(table, places[:3]) + intern(table, places[3:])
    assert [table.names[number] for number in numbers] == ["conv", "add", "conv", "", "convolution", "add"]
    assert table.names == ("conv", "add", "", "convolution"), "in the order of their appearance"
    assert table.add("add") == numbers[1]
    assert intern(table, []) == []


def test_what_follows_a_string_does_not_make_it_another(tmp_path: Path) -> None:
    buffer, places = write(tmp_path, b"ab", b"ab\x01", b"ab")
    numbers = intern(NameTable(buffer), places)
    assert numbers[0] == numbers[2] != numbers[1]


def test_strings_that_share_a_hash_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etprof.traces.name_table._hash", lambda words, length: np.zeros(len(length), np.uint64))
    buffer, places = write(tmp_path, b"one", b"two", b"three", b"two")
    table = NameTable(buffer)
    assert [table.names[number] for number in intern(table, places)] == ["one", "two", "three", "two"]


def test_bytes_that_are_not_text_are_replaced_and_not_lost(tmp_path: Path) -> None:
    buffer, places = write(tmp_path, b"a\xffb")
    table = NameTable(buffer)
    intern(table, places)
    assert table.names == ("a\ufffdb",)


def test_a_name_of_unlikely_length_is_refused(tmp_path: Path) -> None:
    buffer, places = write(tmp_path, b"x" * LONGEST_NAME)
    assert len(intern(NameTable(buffer), places)) == 1
    buffer, places = write(tmp_path, b"x" * (LONGEST_NAME + 1))
    with pytest.raises(TraceError, match="longer than 1024 bytes"):
        intern(NameTable(buffer), places)


def test_names_that_overlap_to_more_than_the_file_are_refused(tmp_path: Path) -> None:
    # Each word is the length of a string that begins behind it: a hundred strings of a hundred bytes in 500 bytes.
    path = tmp_path / "names.bin"
    path.write_bytes(struct.pack("<I", 100) * 100 + bytes(100))
    with pytest.raises(TraceError, match="its names overlap"):
        NameTable(Buffer(path)).intern(np.arange(0, 390, 4, dtype=np.int64))
