"""Builds ETDump files event by event, for what no runtime would record on demand."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """One profile event; `delegated` puts the name where a backend's operators have theirs."""

    name: str | None
    start: int = 0
    end: int = 0
    instruction: int = 0
    delegated: bool = False
    delegate_id: int = -1
    metadata: bytes | None = None


@dataclass(frozen=True)
class DebugEvent:
    """An event that is no profile event."""


@dataclass(frozen=True)
class Allocation:
    """Memory from one of the block's allocators, which count from 1."""

    allocator: int
    size: int


@dataclass(frozen=True)
class UnknownEvent:
    """An event of a type that a later schema may add."""


AnyEvent = Event | DebugEvent | Allocation | UnknownEvent
Block = tuple[str, Sequence[AnyEvent]]


def build_etdump(
    blocks: Sequence[Block],
    *,
    size_prefix: bool = True,
    identifier: bytes = b"ED00",
    allocators: Sequence[str] = (),
    version: int | None = None,
    later_fields: bool = False,
) -> bytes:
    """Every block has these allocators. `later_fields` gives profile events and blocks a field of a later schema."""
    writer = Writer(bytearray(struct.pack("<I", 0) if size_prefix else b""))
    root = writer.hole()
    writer.data += identifier
    dump = writer.table(root, {1: 4} if version is None else {0: 4, 1: 4})
    if version is not None:
        struct.pack_into("<I", writer.data, dump[0], version)
    for hole, (name, events) in zip(writer.vector(dump[1], len(blocks)), blocks, strict=True):
        listed = {2: 4} if allocators else {}
        fields = writer.table(hole, {0: 4, 3: 4, **listed, **({7: 4} if later_fields else {})})
        writer.string(fields[0], name)
        if later_fields:
            writer.string(fields[7], "of a later schema")
        if allocators:
            for entry, allocator in zip(writer.vector(fields[2], len(allocators)), allocators, strict=True):
                writer.string(writer.table(entry, {0: 4})[0], allocator)
        for entry, event in zip(writer.vector(fields[3], len(events)), events, strict=True):
            _write_event(writer, entry, event, later_fields)
    if size_prefix:
        struct.pack_into("<I", writer.data, 0, len(writer.data) - 4)
    return bytes(writer.data)


def _write_event(writer: "Writer", hole: int, event: AnyEvent, later_fields: bool) -> None:
    if isinstance(event, DebugEvent | UnknownEvent):
        member = 2 if isinstance(event, DebugEvent) else 5
        writer.table(writer.table(hole, {member: 4})[member], {})
        return
    if isinstance(event, Allocation):
        fields = writer.table(writer.table(hole, {1: 4})[1], {1: 8, 0: 4})
        struct.pack_into("<Q", writer.data, fields[1], event.size)
        struct.pack_into("<i", writer.data, fields[0], event.allocator)
        return
    profile = writer.table(hole, {0: 4})[0]
    name_field = 4 if event.delegated else 0
    named = {} if event.name is None else {name_field: 4}
    described = {} if event.metadata is None else {5: 4}
    fields = writer.table(profile, {6: 8, 7: 8, 2: 4, 3: 4, **named, **described, **({11: 8} if later_fields else {})})
    struct.pack_into("<Q", writer.data, fields[6], event.start)
    struct.pack_into("<Q", writer.data, fields[7], event.end)
    struct.pack_into("<i", writer.data, fields[2], event.instruction)
    struct.pack_into("<i", writer.data, fields[3], event.delegate_id)
    if event.name is not None:
        writer.string(fields[name_field], event.name)
    if event.metadata is not None:
        writer.bytes(fields[5], event.metadata)


class Writer:
    """Writes front to back: whoever needs an offset leaves a hole, and whatever fills it comes later."""

    def __init__(self, data: bytearray) -> None:
        self.data = data

    def hole(self) -> int:
        self.data += bytes(4)
        return len(self.data) - 4

    def table(self, hole: int, widths: dict[int, int]) -> dict[int, int]:
        """A table of zeros with these fields, eight-byte ones first; returns where each field stands."""
        ordered = sorted(widths, key=lambda field: -widths[field])
        slots = dict.fromkeys(range(max(widths, default=-1) + 1), 0)
        size = 8 if any(width == 8 for width in widths.values()) else 4
        for field in ordered:
            slots[field] = size
            size += widths[field]
        self._align(8)
        vtable = len(self.data)
        self.data += struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), size, *slots.values())
        self._align(8)
        at = len(self.data)
        struct.pack_into("<I", self.data, hole, at - hole)
        self.data += struct.pack("<i", at - vtable) + bytes(size - 4)
        return {field: at + slots[field] for field in widths}

    def vector(self, hole: int, count: int) -> list[int]:
        self._align(4)
        struct.pack_into("<I", self.data, hole, len(self.data) - hole)
        self.data += struct.pack("<I", count)
        return [self.hole() for _ in range(count)]

    def string(self, hole: int, text: str) -> None:
        self._align(4)
        encoded = text.encode()
        struct.pack_into("<I", self.data, hole, len(self.data) - hole)
        self.data += struct.pack("<I", len(encoded)) + encoded + b"\0"

    def bytes(self, hole: int, content: bytes) -> None:
        self._align(4)
        struct.pack_into("<I", self.data, hole, len(self.data) - hole)
        self.data += struct.pack("<I", len(content)) + content

    def _align(self, width: int) -> None:
        self.data += bytes(-len(self.data) % width)
