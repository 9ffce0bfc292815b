"""FlatBuffer tables read by the million: every accessor takes an array of positions and gathers, checking its range."""

from contextlib import nullcontext
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.errors import TraceError
from etprof.core.regular_files import open_regular

Positions = NDArray[np.int64]
# A file that claims more would exhaust a machine: it is read as a whole.
_MOST_BYTES = 1 << 32


@dataclass(frozen=True)
class Tables:
    """Many tables of one type: where each starts, and where its vtable is.

    Writers share vtables, so that most tables have the one of the first; `others` are the numbers of those that do not.
    """

    at: Positions
    vtable: Positions
    others: Positions

    def __len__(self) -> int:
        return len(self.at)


class Buffer:
    """A FlatBuffer in memory: a whole file, or `size` bytes from `start` where it is a part of one.

    `file` is the file where it is open already. Positions count from the start of the FlatBuffer; one outside of it is
    an error.
    """

    def __init__(
        self, path: Path, size: int | None = None, file: BufferedReader | None = None, *, start: int = 0
    ) -> None:
        self.path = path
        whole = path.stat().st_size - start
        self.size = whole if size is None else size
        self.require(self.size <= whole, "it is cut off")
        self.require(self.size <= _MOST_BYTES, f"it has more than {_MOST_BYTES} bytes")
        # Rounded up to whole words, with a zero word behind, so that the words of a string at the very end exist.
        self.bytes = np.zeros((self.size + 11) // 8 * 8, np.uint8)
        with nullcontext(file) if file else open_regular(path) as source:
            source.seek(start)
            held = source.readinto(self.bytes[: self.size].data)
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
        found = Tables(at, vtable, np.flatnonzero(vtable != vtable[0]) if len(at) else vtable)
        if len(at):
            distinct = self._distinct(found)
            vtable_size, size = self._u16_at(distinct), self._u16_at(distinct + 2)
            self.require(vtable_size.min() >= 4 and size.min() >= 4, "a vtable is too short")
            self.require((distinct + vtable_size).max() <= self.size, "a vtable ends beyond its end")
            last = at.max() if not len(found.others) else (at + self._per_table(found, size)).max() - size[0]
            self.require(last + size[0] <= self.size, "a table ends beyond its end")
        return found

    def sizes(self, tables: Tables) -> Positions:
        """How many bytes each table has."""
        return self._per_table(tables, self._u16_at(self._distinct(tables) + 2)) if len(tables) else tables.at

    def has_more_fields(self, tables: Tables, known: int) -> bool:
        """Whether a table has fields behind the known ones: a writer ends a vtable with the last field that is set."""
        return bool(len(tables) and self._u16_at(self._distinct(tables)).max() > 4 + 2 * known)

    def _distinct(self, tables: Tables) -> Positions:
        """The vtable of the first table, then those of the tables that have another."""
        return np.concatenate([tables.vtable[:1], tables.vtable[tables.others]])

    def _per_table(self, tables: Tables, of_distinct: Positions) -> Positions:
        """A value for each table out of one for each entry of `_distinct`."""
        values = np.full(len(tables), of_distinct[0], np.int64)
        values[tables.others] = of_distinct[1:]
        return values

    def field(self, tables: Tables, index: int, width: int) -> Positions:
        """Where the field stands in each table; 0 in those that leave it out."""
        if not len(tables):
            return np.zeros(0, np.int64)
        entry = 4 + 2 * index
        distinct = self._distinct(tables)
        has_entry = self._u16_at(distinct) > entry
        slot = np.where(has_entry, self._u16_at(np.where(has_entry, distinct + entry, 0)), 0)
        present = slot > 0
        if not present.any():
            return np.zeros(len(tables), np.int64)
        lies_inside = slot + width <= self._u16_at(distinct + 2)
        self.require(bool(np.all(lies_inside | ~present)), "a field lies outside its table")
        position: Positions = tables.at + slot[0] if present[0] else np.zeros(len(tables), np.int64)
        position[tables.others] = np.where(present[1:], tables.at[tables.others] + slot[1:], 0)
        self.require(not np.any(position & (min(width, 4) - 1)), "a field is not aligned")
        return position

    def int32(self, at: Positions, default: int) -> NDArray[np.int32]:
        return np.where(at > 0, self._i32[at >> 2], np.int32(default))

    def uint8(self, at: Positions) -> Positions:
        values: Positions = np.where(at > 0, self.bytes[at], 0).astype(np.int64)
        return values

    def uint16(self, at: Positions) -> Positions:
        return np.where(at > 0, self._u16_at(at), 0)

    def uint32(self, at: Positions) -> Positions:
        values: Positions = np.where(at > 0, self.words[at >> 2], 0).astype(np.int64)
        return values

    def float32(self, at: Positions) -> NDArray[np.float32]:
        return np.where(at > 0, self.words.view("<f4")[at >> 2], np.float32(0))

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

    def tables_in(self, table: Tables, field: int) -> Tables:
        """The tables of a list; none where the field is left out."""
        at = self.field(table, field, 4)
        if not at[0]:
            return self.tables(np.zeros(0, np.int64))
        first, length = self.vectors(self.follow(at), 4)
        return self.tables(self.follow(first[0] + 4 * np.arange(length[0])))

    def lists_in(self, tables: Tables, field: int) -> list[tuple[int, ...]]:
        """The list of 32-bit numbers in a field of each table; empty where it is left out."""
        at = self.field(tables, field, 4)
        lists: list[tuple[int, ...]] = [()] * len(tables)
        which = np.flatnonzero(at > 0)
        first, length = self.vectors(self.follow(at[which]), 4)
        # Writers share no lists: tables that all lead to one long list are an attack on the memory.
        self.require(int(length.sum()) * 4 <= self.size, "its lists are longer than the file")
        for table, start, count in zip(which.tolist(), first.tolist(), length.tolist(), strict=True):
            lists[table] = tuple(self.words[(start >> 2) : (start >> 2) + count].tolist())
        return lists

    def text_in(self, table: Tables, field: int) -> str:
        at = self.field(table, field, 4)
        if not at[0]:
            return ""
        first, length = self.vectors(self.follow(at), 1)
        return self.bytes[first[0] : first[0] + length[0]].tobytes().decode("utf-8", errors="replace")
