"""Reads inferences that repeat one another byte by byte, times aside, without following every offset again.

A runner writes a block of events for each inference. Their names, tables and offsets are the same each time, so that
the blocks lie at equal distances and differ in time stamps, and in how far their tables are from the vtables they
share. One block is read in full; of the others it is checked that every word it was read from is the same in them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.traces.flatbuffer import Buffer, Positions, Tables

# Fewer are read as quickly the plain way.
_LEAST_RUNS = 4
_WORD = 4

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class Stretch:
    """Blocks `first` to `last`, the last one not included, which lie `distance` bytes apart; it may be negative."""

    first: int
    last: int
    distance: int

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class Places:
    """Where the words of one block stand that reading it has looked at, and where its times are."""

    entries: Positions
    tables: tuple[Tables, ...]
    texts: tuple[tuple[Positions, Positions], ...]
    start: Positions
    end: Positions


def find_stretch(first_event: Positions, event_count: Positions) -> Stretch | None:
    """The longest run of blocks of one size at equal distances that ends with the last block, if it is worth it."""
    if len(first_event) < _LEAST_RUNS + 1 or not event_count[-1]:
        return None
    distances = np.diff(first_event)
    alike = (distances == distances[-1]) & (event_count[1:] == event_count[-1]) & (event_count[:-1] == event_count[-1])
    breaks = np.flatnonzero(~alike)
    # Not the first of them: it brings the vtables that the others share, which its distance to the next does not show.
    first = int(breaks[-1]) + 2 if len(breaks) else 1
    stretch = Stretch(first, len(first_event), int(distances[-1]))
    is_whole = stretch.distance and not stretch.distance % _WORD
    return stretch if len(stretch) >= _LEAST_RUNS and is_whole else None


def read_times(
    buffer: Buffer, stretch: Stretch, places: Places
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
    """Start and end of every event, a row for each block; None where the blocks do not repeat the first one."""
    touched = _find_touched(buffer, places)
    low, size = int(touched.min()), abs(stretch.distance) // _WORD
    has_times = places.start.all() and places.end.all()
    if touched.max() - low >= size or not has_times:
        return None
    words = _lay_out(buffer, stretch, low, size)
    if words is None:
        return None
    offsets = np.concatenate([tables.at for tables in places.tables]) // _WORD - low
    times = np.stack([places.start, places.start + _WORD, places.end, places.end + _WORD]) // _WORD - low
    fixed = np.zeros(size, np.bool_)
    fixed[touched - low] = True
    fixed[offsets] = False
    fixed[times.ravel()] = False
    varies = (words != words[0]).any(axis=0)
    if (varies & fixed).any() or not _keep_their_vtables(words[:, offsets], stretch.distance):
        return None
    low_start, high_start, low_end, high_end = (words[:, columns].astype(np.uint64) for columns in times)
    shift = np.uint64(32)
    return low_start | high_start << shift, low_end | high_end << shift


def _find_touched(buffer: Buffer, places: Places) -> Positions:
    """The words, counted from the start of the file, that entries, tables and texts of the block consist of."""
    spans = [
        (places.entries, np.full(len(places.entries), _WORD)),
        *((tables.at, buffer.sizes(tables)) for tables in places.tables),
        # The length stands before the text.
        *((first - _WORD, length + _WORD) for first, length in places.texts),
    ]
    starts = np.concatenate([start // _WORD for start, _ in spans])
    counts = np.concatenate([-(-size // _WORD) for _, size in spans])
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    words: Positions = np.repeat(starts, counts) + within
    return words


def _lay_out(buffer: Buffer, stretch: Stretch, low: int, size: int) -> Words | None:
    """A row of words for each block, in the order of the blocks; None where one would reach beyond the file."""
    last = low + (len(stretch) - 1) * stretch.distance // _WORD
    begin, end = min(low, last), max(low, last) + size
    if begin < 0 or end * _WORD > buffer.size:
        return None
    rows: Words = buffer.words[begin:end].reshape(len(stretch), size)
    return rows if stretch.distance > 0 else rows[::-1]


def _keep_their_vtables(offsets: Words, distance: int) -> bool:
    """A table's offset to a vtable that it shares grows by the distance that lies between the blocks."""
    moved = (np.arange(len(offsets), dtype=np.int64) * distance).astype(np.uint32)
    return bool((offsets == offsets[0] + moved[:, None]).all())
