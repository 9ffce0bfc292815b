"""FlatBuffer tables read by the million: every accessor takes an array of positions and gathers, checking its range."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.errors import TraceError

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """Many tables of one type: where each starts, how long it is, and where its vtable is."""

    at: Positions
    size: Positions
    vtable: Positions
    vtable_size: Positions

    def __len__(self) -> int:
        return len(self.at)


class Buffer:
    """A FlatBuffer in memory. Positions count from the start of the file; one outside of it is an error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        # Rounded up to whole words, with a zero word behind, so that the words of a string at the very end exist.
        self.bytes = np.zeros((self.size + 11) // 8 * 8, np.uint8)
        with path.open("rb") as file:
            held = file.readinto(self.bytes[: self.size].data)
        self.require(held == self.size, "it became shorter while it was read")
        self._u16 = self.bytes.view("<u2")
        self._i32 = self.bytes.view("<i4")
        self.words = self.bytes.view("<u4")

    def damaged(self, what: str) -> TraceError:
        return TraceError(
            f"{self.path} is damaged: {what}.",
            hint="Record it again; a runner that was killed or a full disk leaves such files behind.",
        )

    def require(self, condition: bool | np.bool_, what: str) -> None:
        if not condition:
            raise self.damaged(what)

    def _u16_at(self, at: Positions) -> Positions:
        values: Positions = self._u16[at >> 1].astype(np.int64)
        return values

    def follow(self, at: Positions) -> Positions:
        """The targets of the offsets that stand at these positions."""
        target: Positions = at + self.words[at >> 2]
        if len(target):
            self.require(target.max() <= self.size - 4, "an offset points beyond its end")
            self.require(not np.any(target & 3), "an offset is not aligned")
        return target

    def tables(self, at: Positions) -> Tables:
        vtable = at - self._i32[at >> 2]
        if len(at):
            inside = vtable.min() >= 0 and vtable.max() <= self.size - 4
            self.require(inside and not np.any(vtable & 1), "a table has no valid vtable")
        vtable_size = self._u16_at(vtable)
        size = self._u16_at(vtable + 2)
        if len(at):
            self.require(vtable_size.min() >= 4 and size.min() >= 4, "a vtable is too short")
            self.require((vtable + vtable_size).max() <= self.size, "a vtable ends beyond its end")
            self.require((at + size).max() <= self.size, "a table ends beyond its end")
        return Tables(at, size, vtable, vtable_size)

    def field(self, tables: Tables, index: int, width: int) -> Positions:
        """Where the field stands in each table; 0 in those that leave it out."""
        entry = 4 + 2 * index
        has_entry = tables.vtable_size > entry
        slot = self._u16_at(np.where(has_entry, tables.vtable + entry, 0))
        slot[~has_entry] = 0
        present = slot > 0
        position = np.where(present, tables.at + slot, 0)
        if present.any():
            self.require(bool(np.all(slot + width <= tables.size)), "a field lies outside its table")
            self.require(not np.any(position & (min(width, 4) - 1)), "a field is not aligned")
        return position

    def int32(self, at: Positions, default: int) -> NDArray[np.int32]:
        return np.where(at > 0, self._i32[at >> 2], np.int32(default))

    def uint64(self, at: Positions) -> NDArray[np.uint64]:
        word = at >> 2
        value = self.words[word].astype(np.uint64) | (self.words[word + 1].astype(np.uint64) << np.uint64(32))
        return np.where(at > 0, value, np.uint64(0))

    def vectors(self, at: Positions, item_width: int) -> tuple[Positions, Positions]:
        """First item and length of the vectors that start at these positions."""
        length = self.words[at >> 2].astype(np.int64)
        if len(at):
            self.require((at + 4 + length * item_width).max() <= self.size, "a list ends beyond its end")
        return at + 4, length
