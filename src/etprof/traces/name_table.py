"""Names of events, interned: a trace repeats the same few hundred strings for every inference, never shared."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from etprof.traces.flatbuffer import Buffer, Positions

LONGEST_NAME = 1024
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


# More names than any model has operators; a file that has more is read without this help.
_MOST_KNOWN = 1 << 14


class _Known(NamedTuple):
    """Strings met before, in the order of their hashes, a column of `words` for each."""

    hashes: NDArray[np.uint64]
    words: NDArray[np.uint32]
    length: Positions
    numbers: NDArray[np.int32]


class NameTable:
    """Gives equal strings equal numbers, by gathers: a hash finds the candidates, the words themselves decide."""

    def __init__(self, buffer: Buffer, decode: Callable[[bytes], str] = lambda data: data.decode("utf-8", "replace")):
        self._buffer = buffer
        self._decode = decode
        self._numbers: dict[str, int] = {}
        self._held_bytes = 0
        self._known: _Known | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._numbers)

    def add(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def add_long(self, at: int) -> int:
        """The number of one string of any length."""
        first, length = self._buffer.vectors(np.array([at], np.int64), 1)
        return self._add_at(first[0], length[0])

    def intern(self, at: Positions) -> NDArray[np.int32]:
        """The number of the string at each position."""
        first, length = self._buffer.vectors(at, 1)
        if not len(at):
            return np.zeros(0, np.int32)
        self._buffer.require(length.max() <= LONGEST_NAME, f"a name is longer than {LONGEST_NAME} bytes")
        words = self._words(first >> 2, length)
        hashes = _hash(words, length)
        numbers = self._recall(hashes, words, length)
        new = np.flatnonzero(numbers < 0)
        if len(new):
            numbers[new] = self._learn(hashes[new], words[:, new], first[new], length[new])
        return numbers

    def _recall(self, hashes: NDArray[np.uint64], words: NDArray[np.uint32], length: Positions) -> NDArray[np.int32]:
        """The numbers of strings that were met before, -1 of others: a trace repeats its names in every inference."""
        known = self._known
        if known is None:
            return np.full(len(hashes), -1, np.int32)
        place = np.minimum(np.searchsorted(known.hashes, hashes), len(known.hashes) - 1)
        same = (known.hashes[place] == hashes) & (known.length[place] == length)
        rows = min(len(words), len(known.words))
        same &= (words[:rows] == known.words[:rows, place]).all(axis=0)
        return np.where(same, known.numbers[place], np.int32(-1))

    def _learn(
        self, hashes: NDArray[np.uint64], words: NDArray[np.uint32], first: Positions, length: Positions
    ) -> NDArray[np.int32]:
        distinct, chosen, choice = np.unique(hashes, return_index=True, return_inverse=True)
        of_distinct = np.empty(len(chosen), np.int32)
        # In the order of their appearance, in which a trace lists its names.
        for each in np.argsort(chosen):
            of_distinct[each] = self._add_at(first[chosen[each]], length[chosen[each]])
        numbers = of_distinct[choice]
        same = (words == words[:, chosen[choice]]).all(axis=0) & (length == length[chosen[choice]])
        # Strings that share a hash and nothing else do not happen by accident; they must not be mixed up all the same.
        for i in np.flatnonzero(~same):
            numbers[i] = self._add_at(first[i], length[i])
        if self._known is None and len(distinct) <= _MOST_KNOWN:
            self._known = _Known(distinct, words[:, chosen], length[chosen], of_distinct)
        return numbers

    def _add_at(self, first: np.int64, length: np.int64) -> int:
        # Strings that overlap could say more than the whole file; no writer makes such, and memory has an end.
        self._held_bytes += int(length)
        self._buffer.require(self._held_bytes <= self._buffer.size, "its names overlap")
        return self.add(self._decode(self._buffer.bytes[first : first + length].tobytes()))

    def _words(self, first: Positions, length: Positions) -> NDArray[np.uint32]:
        """A row per word index, a column per string, zero beyond a string's last word.

        The last word may hold bytes from behind the string. They can only tell equal strings apart, never make
        different ones equal, and equal texts get one number in the end.
        """
        rows = -(-int(length.max()) // 4)
        words = np.zeros((rows, len(first)), np.uint32)
        for row in range(rows):
            longer = np.flatnonzero(length > 4 * row)
            words[row, longer] = self._buffer.words[first[longer] + row]
        return words


def _hash(words: NDArray[np.uint32], length: Positions) -> NDArray[np.uint64]:
    value = length.astype(np.uint64)
    for row in words:
        value = (value ^ row) * _MULTIPLIER
        value ^= value >> np.uint64(29)
    return value
