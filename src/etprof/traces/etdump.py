"""Reads ExecuTorch's ETDump: FlatBuffer in, columns out, with no schema compiler and no object per event."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.errors import TraceError
from etprof.core.trace import Trace
from etprof.traces.event_extras import (
    ChunkExtras,
    Extras,
    build_allocations,
    decode_metadata,
    intern_metadata,
    read_allocations,
)
from etprof.traces.event_kinds import EventColumns, TraceParts, build_trace
from etprof.traces.flatbuffer import Buffer, Positions, Tables
from etprof.traces.name_table import NameTable
from etprof.traces.repeated_runs import Places, Stretch, find_stretch, read_times

IDENTIFIER = b"ED00"
# Entries read at once: few enough to stay in the cache and to bound memory, enough for the interpreter not to count.
CHUNK = 1 << 15
SMALLEST_CHUNK = 1 << 10
# An entry of the list, the event's table and the table it leads to: nothing that was written by a writer is smaller.
SMALLEST_EVENT = 20

# Field indices in etdump_schema_flatcc.fbs.
ETDUMP_VERSION, ETDUMP_RUN_DATA = 0, 1
RUN_NAME, RUN_ALLOCATORS, RUN_EVENTS = 0, 2, 3
EVENT_PROFILE, EVENT_ALLOCATION, EVENT_DEBUG = 0, 1, 2
PROFILE_NAME, PROFILE_INSTRUCTION, PROFILE_DELEGATE_INT, PROFILE_DELEGATE_STR = 0, 2, 3, 4
PROFILE_METADATA, PROFILE_START, PROFILE_END = 5, 6, 7
KNOWN_VERSION = 0

FOREIGN = {
    b"ET": "an ExecuTorch program (.pte), not a trace of one",
    b"PK": "a zip archive (an ETRecord is one), not an ETDump",
    b"BP": "a bundled program (.bpte), not a trace of one",
}


@dataclass(frozen=True)
class _Blocks:
    """The RunData entries: their names, and where the lists of allocators and events of each begin."""

    names: tuple[str, ...]
    allocators: Positions
    first_event: Positions
    event_count: Positions


class _Reader:
    """A file while it is read: its bytes, the names and texts met so far, and what there is beside the columns."""

    def __init__(self, path: Path) -> None:
        self.buffer = Buffer(path)
        self.names = NameTable(self.buffer)
        self.texts = NameTable(self.buffer, decode_metadata)
        self.extras = Extras()

    def tables(self, at: Positions, name: str) -> Tables:
        """The tables of this name that stand at these positions."""
        found = self.buffer.tables(at)
        self.extras.look_at(self.buffer, name, found)
        return found


def read_etdump(path: Path) -> Trace:
    if not path.is_file():
        raise TraceError(f"There is no trace at {path}.", hint="Name a .etdump file of a run.")
    try:
        parts = _read_parts(path)
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    # The file's bytes are let go before anything is concluded from the columns, for both need memory.
    return build_trace(parts)


def _read_parts(path: Path) -> TraceParts:
    reader = _Reader(path)
    buffer = reader.buffer
    root, notes = _find_root(buffer)
    dump = reader.tables(root, "ETDump")
    blocks = _read_blocks(reader, dump)
    columns = _read_events(reader, blocks)
    if not len(columns.name):
        raise TraceError(
            f"{path} holds no profile event.",
            hint="Record it with an ETDump-enabled runner and at least one inference: etprof run writes such traces.",
        )
    buffer.require(float(columns.duration_ns.sum(dtype=np.float64)) < 2.0**62, "its durations are out of range")
    allocations = build_allocations(buffer, reader.extras, blocks.allocators)
    version = int(buffer.int32(buffer.field(dump, ETDUMP_VERSION, 4), KNOWN_VERSION)[0])
    return TraceParts(
        columns=columns,
        names=reader.names.names,
        block_names=blocks.names,
        notes=notes,
        extras=reader.extras,
        texts=reader.texts.names,
        allocations=allocations,
        newer_version=None if version == KNOWN_VERSION else version,
    )


def _find_root(buffer: Buffer) -> tuple[Positions, tuple[str, ...]]:
    """The root table, behind a size prefix or without one, and what is to be said about the file as a whole."""
    head = buffer.bytes[:12].tobytes()
    if buffer.size == 0:
        raise TraceError(f"{buffer.path} is empty.", hint="The runner wrote no trace: look at its log.")
    if head[8:12] == IDENTIFIER:
        promised = int.from_bytes(head[:4], "little") + 4
        if promised > buffer.size:
            raise TraceError(
                f"{buffer.path} is cut off: it holds {buffer.size:,} of {promised:,} bytes.",
                hint="Copy or record it again; the disk was full or the transfer stopped.",
            )
        extra = buffer.size - promised
        notes = (f"{extra:,} bytes behind the end of the trace were ignored.",) if extra > 3 else ()
        return buffer.follow(np.array([4], np.int64)), notes
    if head[4:8] == IDENTIFIER and buffer.size >= 12:
        return buffer.follow(np.array([0], np.int64)), ()
    raise TraceError(f"{buffer.path} is not an ETDump: {_describe(head)}.", hint="Name the .etdump file of a run.")


def _describe(head: bytes) -> str:
    for mark, what in FOREIGN.items():
        if head[4:6] == mark or head[:2] == mark:
            return f"it looks like {what}"
    return f"its identifier is {head[8:12]!r} where {IDENTIFIER!r} was expected"


def _read_blocks(reader: _Reader, dump: Tables) -> _Blocks:
    buffer = reader.buffer
    list_at = buffer.field(dump, ETDUMP_RUN_DATA, 4)
    if not list_at[0]:
        return _Blocks((), *(np.zeros(0, np.int64) for _ in range(3)))
    first, count = buffer.vectors(buffer.follow(list_at), 4)
    entries = first[0] + 4 * np.arange(count[0], dtype=np.int64)
    runs = reader.tables(buffer.follow(entries), "RunData")
    event_list = buffer.field(runs, RUN_EVENTS, 4)
    has_events = event_list > 0
    first_event = np.zeros(len(runs), np.int64)
    event_count = np.zeros(len(runs), np.int64)
    first_event[has_events], event_count[has_events] = buffer.vectors(buffer.follow(event_list[has_events]), 4)
    names = _read_block_names(buffer, buffer.field(runs, RUN_NAME, 4))
    return _Blocks(names, buffer.field(runs, RUN_ALLOCATORS, 4), first_event, event_count)


def _read_block_names(buffer: Buffer, name_at: Positions) -> tuple[str, ...]:
    table = NameTable(buffer)
    number = np.full(len(name_at), table.add(""), np.int32)
    for start in range(0, len(name_at), CHUNK):
        part = name_at[start : start + CHUNK]
        named = np.flatnonzero(part)
        number[start + named] = table.intern(buffer.follow(part[named]))
    names = table.names
    return tuple(names[i] for i in number.tolist())


def _read_events(reader: _Reader, blocks: _Blocks) -> EventColumns:
    buffer = reader.buffer
    total = int(blocks.event_count.sum())
    buffer.require(total * SMALLEST_EVENT <= buffer.size, f"{total:,} events do not fit into {buffer.size:,} bytes")
    columns = EventColumns.empty(total)
    stretch = find_stretch(blocks.first_event, blocks.event_count)
    plain = stretch.first if stretch else len(blocks.event_count)
    _read_blocks_of(reader, blocks, columns, range(plain))
    if stretch and not _read_stretch(reader, blocks, columns, stretch):
        _read_blocks_of(reader, blocks, columns, range(stretch.first, stretch.last))
    return columns.without_spare()


def _read_blocks_of(reader: _Reader, blocks: _Blocks, columns: EventColumns, wanted: range) -> None:
    """Adds the events of some blocks that follow one another."""
    count = blocks.event_count[wanted.start : wanted.stop]
    end = np.cumsum(count)
    total = int(end[-1]) if len(end) else 0
    # What a chunk needs on the way stays small beside the file, whatever the size of that.
    chunk = min(max(total // 8, SMALLEST_CHUNK), CHUNK)
    for start in range(0, total, chunk):
        ordinal = np.arange(start, min(start + chunk, total), dtype=np.int64)
        block = np.searchsorted(end, ordinal, side="right")
        entry = blocks.first_event[wanted.start + block] + 4 * (ordinal - (end[block] - count[block]))
        begin = columns.filled
        _, extras = _read_chunk(reader, entry, wanted.start + block, columns)
        reader.extras.add(extras, begin)


def _read_stretch(reader: _Reader, blocks: _Blocks, columns: EventColumns, stretch: Stretch) -> bool:
    """Adds the events of blocks that repeat the first of them; adds nothing where they do not."""
    events = int(blocks.event_count[stretch.first])
    begin = columns.filled
    entry = blocks.first_event[stretch.first] + 4 * np.arange(events, dtype=np.int64)
    places, extras = _read_chunk(reader, entry, np.full(events, stretch.first), columns)
    count = columns.filled - begin
    times = read_times(reader.buffer, stretch, places) if count else None
    if times is None:
        columns.filled = begin
        return False
    start, end = times
    _check_times(reader.buffer, start, end)
    into = slice(begin, begin + count * len(stretch))
    for column in (columns.name, columns.instruction, columns.is_delegated):
        column[into] = np.tile(column[begin : begin + count], len(stretch))
    columns.block[into] = np.repeat(np.arange(stretch.first, stretch.last), count)
    columns.start_ns[into] = start.ravel()
    columns.duration_ns[into] = (end - start).ravel()
    columns.filled = into.stop
    reader.extras.add(extras.repeated(len(stretch), count), begin)
    return True


def _read_chunk(
    reader: _Reader, entry: Positions, block: Positions, columns: EventColumns
) -> tuple[Places, ChunkExtras]:
    """Adds the profile events among these entries of event lists to the columns; returns where they were read."""
    buffer = reader.buffer
    events = reader.tables(buffer.follow(entry), "Event")
    profile_at = buffer.field(events, EVENT_PROFILE, 4)
    is_profile = profile_at > 0
    profile = reader.tables(buffer.follow(profile_at[is_profile]), "ProfileEvent")
    into = slice(columns.filled, columns.filled + len(profile))
    columns.filled += len(profile)
    start_at, end_at = (buffer.field(profile, index, 8) for index in (PROFILE_START, PROFILE_END))
    start, end = buffer.uint64(start_at), buffer.uint64(end_at)
    _check_times(buffer, start, end)
    columns.block[into] = block[is_profile]
    columns.start_ns[into] = start
    columns.duration_ns[into] = end - start
    columns.instruction[into] = buffer.int32(buffer.field(profile, PROFILE_INSTRUCTION, 4), -1)
    delegate_int = buffer.int32(buffer.field(profile, PROFILE_DELEGATE_INT, 4), -1)
    delegate_str_at = buffer.field(profile, PROFILE_DELEGATE_STR, 4)
    name_at = np.where(delegate_str_at > 0, delegate_str_at, buffer.field(profile, PROFILE_NAME, 4))
    columns.name[into] = _number_names(buffer, name_at, delegate_int, reader.names)
    columns.is_delegated[into] = (delegate_str_at > 0) | (delegate_int != -1)
    metadata_at = buffer.field(profile, PROFILE_METADATA, 4)
    texts = tuple(buffer.vectors(buffer.follow(at[at > 0]), 1) for at in (name_at, metadata_at))
    # The runtime gives every event of a delegate a list of metadata, as a rule an empty one.
    first, length = texts[1]
    metadata = np.flatnonzero(metadata_at)[length > 0], first[length > 0] - 4
    extras, allocations = _read_extras(reader, events, is_profile, metadata, block)
    return Places(entry, (events, profile, allocations), texts, start_at, end_at), extras


def _read_extras(
    reader: _Reader,
    events: Tables,
    is_profile: NDArray[np.bool_],
    metadata: tuple[Positions, Positions],
    block: Positions,
) -> tuple[ChunkExtras, Tables]:
    """What these events hold beside the columns, and the tables of the allocations among them."""
    buffer = reader.buffer
    allocation_at, debug_at = (buffer.field(events, index, 4) for index in (EVENT_ALLOCATION, EVENT_DEBUG))
    allocated = np.flatnonzero(allocation_at)
    allocations = reader.tables(buffer.follow(allocation_at[allocated]), "AllocationEvent")
    allocator, size_bytes = read_allocations(buffer, allocations)
    extras = ChunkExtras(
        metadata_row=metadata[0],
        metadata_text=intern_metadata(buffer, metadata[1], reader.texts),
        allocation_row=np.cumsum(is_profile, dtype=np.int64)[allocated],
        allocation_block=block[allocated],
        allocator=allocator,
        size_bytes=size_bytes,
        debug_events=int(np.count_nonzero(debug_at)),
        unknown_events=len(events) - int(np.count_nonzero(is_profile | (allocation_at > 0) | (debug_at > 0))),
    )
    return extras, allocations


def _check_times(buffer: Buffer, start: NDArray[np.uint64], end: NDArray[np.uint64]) -> None:
    if start.size:
        buffer.require(end.max() < 1 << 62, "a time stamp is out of range")
        buffer.require(not np.any(end < start), "an event ends before it starts")


def _number_names(
    buffer: Buffer, name_at: Positions, delegate_int: NDArray[np.int32], names: NameTable
) -> NDArray[np.int32]:
    number = np.empty(len(name_at), np.int32)
    named = name_at > 0
    number[named] = names.intern(buffer.follow(name_at[named]))
    # A backend may identify its operators by number alone.
    ids, choice = np.unique(delegate_int[~named], return_inverse=True)
    numbers = [names.add("(unnamed)" if value == -1 else f"delegate id {value}") for value in ids.tolist()]
    number[~named] = np.array(numbers, np.int32)[choice]
    return number
