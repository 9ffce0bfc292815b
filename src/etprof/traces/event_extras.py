"""What a trace holds beside the times of its events: metadata of delegates, allocations, and parts of newer schemas."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from etprof.core.trace import Metadata
from etprof.traces.flatbuffer import Buffer, Positions, Tables
from etprof.traces.name_table import LONGEST_NAME, NameTable

# Field indices in etdump_schema_flatcc.fbs.
ALLOCATION_ALLOCATOR, ALLOCATION_SIZE = 0, 1
ALLOCATOR_NAME = 0
# How many fields of each table that schema has.
KNOWN_FIELDS = {"ETDump": 2, "RunData": 4, "Event": 3, "ProfileEvent": 8, "AllocationEvent": 2, "Allocator": 1}


@dataclass(frozen=True)
class ChunkExtras:
    """Those of some entries of event lists. `metadata_row` and `allocation_row` count rows from the chunk's first.

    An allocation has the row of the profile event that is recorded next.
    """

    metadata_row: Positions
    metadata_text: NDArray[np.int32]
    allocation_row: Positions
    allocation_block: Positions
    allocator: NDArray[np.int32]
    size_bytes: NDArray[np.uint64]
    debug_events: int
    unknown_events: int

    def repeated(self, blocks: int, rows: int) -> "ChunkExtras":
        """Those of so many blocks that repeat this one, whose profile events take so many rows each."""
        number = np.arange(blocks, dtype=np.int64)[:, None]
        return ChunkExtras(
            metadata_row=(self.metadata_row + rows * number).ravel(),
            metadata_text=np.tile(self.metadata_text, blocks),
            allocation_row=(self.allocation_row + rows * number).ravel(),
            allocation_block=(self.allocation_block + number).ravel(),
            allocator=np.tile(self.allocator, blocks),
            size_bytes=np.tile(self.size_bytes, blocks),
            debug_events=self.debug_events * blocks,
            unknown_events=self.unknown_events * blocks,
        )


@dataclass
class Extras:
    """Collected over all chunks; `newer` names tables that have fields of a newer schema."""

    metadata: list[tuple[Positions, NDArray[np.int32]]] = field(default_factory=list)
    allocations: list[tuple[Positions, Positions, NDArray[np.int32], NDArray[np.uint64]]] = field(default_factory=list)
    debug_events: int = 0
    unknown_events: int = 0
    newer: set[str] = field(default_factory=set)

    def add(self, chunk: ChunkExtras, row: int) -> None:
        """A chunk whose profile events begin at this row."""
        if len(chunk.metadata_row):
            self.metadata.append((row + chunk.metadata_row, chunk.metadata_text))
        if len(chunk.allocator):
            where = row + chunk.allocation_row, chunk.allocation_block
            self.allocations.append((*where, chunk.allocator, chunk.size_bytes))
        self.debug_events += chunk.debug_events
        self.unknown_events += chunk.unknown_events

    def look_at(self, buffer: Buffer, name: str, tables: Tables) -> None:
        if buffer.has_more_fields(tables, KNOWN_FIELDS[name]):
            self.newer.add(name)

    def build_metadata(self, texts: tuple[str, ...]) -> Metadata:
        if not self.metadata:
            return Metadata()
        rows, numbers = zip(*self.metadata, strict=True)
        return Metadata(texts, np.concatenate(rows), np.concatenate(numbers))


def decode_metadata(data: bytes) -> str:
    """Text as text, its zero bytes as separators; anything else, a single byte too, as a hexadecimal number."""
    try:
        text = "; ".join(part.decode("utf-8") for part in data.strip(b"\0").split(b"\0"))
    except UnicodeDecodeError:
        text = ""
    is_text = len(data) > 1 and text and all(letter.isprintable() or letter in "\t\r\n" for letter in text)
    return text if is_text else f"0x{data.hex()}" if data else ""


def intern_metadata(buffer: Buffer, at: Positions, texts: NameTable) -> NDArray[np.int32]:
    """The numbers of the byte vectors at these positions. Long ones are statistics, and differ from one another."""
    _, length = buffer.vectors(at, 1)
    numbers = np.empty(len(at), np.int32)
    is_short = length <= LONGEST_NAME
    numbers[is_short] = texts.intern(at[is_short])
    numbers[~is_short] = [texts.add_long(int(position)) for position in at[~is_short]]
    return numbers


def read_allocations(buffer: Buffer, tables: Tables) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    allocator = buffer.int32(buffer.field(tables, ALLOCATION_ALLOCATOR, 4), 0)
    size = buffer.uint64(buffer.field(tables, ALLOCATION_SIZE, 8))
    buffer.require(not len(size) or size.max() < 1 << 62, "an allocation is out of range")
    return allocator, size


@dataclass(frozen=True)
class PlacedAllocations:
    """All allocations with the block of each, and the row of the profile event that was recorded next."""

    names: tuple[str, ...] = ()
    row: Positions = field(default_factory=lambda: np.zeros(0, np.int64))
    block: Positions = field(default_factory=lambda: np.zeros(0, np.int64))
    allocator: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    size_bytes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


def build_allocations(buffer: Buffer, extras: Extras, allocators_at: Positions) -> PlacedAllocations:
    """`allocators_at` is per block. The runtime counts a block's allocators from 1."""
    if not extras.allocations:
        return PlacedAllocations()
    row, block, identifier, size = (np.concatenate(parts) for parts in zip(*extras.allocations, strict=True))
    names = NameTable(buffer)
    used, place = np.unique(block, return_inverse=True)
    first, count, number = _read_allocator_names(buffer, extras, allocators_at[used], names)
    known = (identifier >= 1) & (identifier <= count[place])
    allocator = np.empty(len(row), np.int32)
    allocator[known] = number[first[place[known]] + identifier[known] - 1]
    others, choice = np.unique(identifier[~known], return_inverse=True)
    unnamed = np.array([names.add(f"allocator {value}") for value in others.tolist()], np.int32)
    allocator[~known] = unnamed[choice]
    return PlacedAllocations(names.names, row, block, allocator, size.astype(np.int64))


def _read_allocator_names(
    buffer: Buffer, extras: Extras, list_at: Positions, names: NameTable
) -> tuple[Positions, Positions, NDArray[np.int32]]:
    """Where the names of each block begin, how many there are, and the numbers of all of them."""
    start, count = np.zeros(len(list_at), np.int64), np.zeros(len(list_at), np.int64)
    listed = list_at > 0
    start[listed], count[listed] = buffer.vectors(buffer.follow(list_at[listed]), 4)
    total = int(count.sum())
    buffer.require(total * 4 <= buffer.size, "its lists of allocators overlap")
    first = np.cumsum(count) - count
    entry = np.repeat(start, count) + 4 * (np.arange(total) - np.repeat(first, count))
    tables = buffer.tables(buffer.follow(entry))
    extras.look_at(buffer, "Allocator", tables)
    name_at = buffer.field(tables, ALLOCATOR_NAME, 4)
    number = np.full(total, names.add("(unnamed)"), np.int32)
    number[name_at > 0] = names.intern(buffer.follow(name_at[name_at > 0]))
    return first, count, number
