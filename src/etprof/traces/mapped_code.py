"""Machine code at the addresses of a recording, out of the files that were mapped there."""

import mmap
from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import NamedTuple

_CODE_BYTES = 16


class _Mapping(NamedTuple):
    start: int
    end: int
    file_offset: int
    file: str


class MappedCode:
    """What is mapped where, as a recording goes on: a later mapping takes the place of what it covers.

    Files are opened once each, and only if `reads_files`: it is the recording that names them.
    """

    def __init__(self, *, reads_files: bool) -> None:
        self._reads_files = reads_files
        self._starts: list[int] = []
        self._mappings: list[_Mapping] = []
        self._contents: dict[str, mmap.mmap | None] = {}

    def add(self, start: int, size: int, file_offset: int, file: str) -> None:
        end = start + size
        if not self._reads_files or size <= 0:
            return
        first = bisect_left(self._starts, start)
        if first and self._mappings[first - 1].end > start:
            first -= 1
        last = bisect_left(self._starts, end, first)
        kept = [_Mapping(start, end, file_offset, file)]
        if first < last:
            before, after = self._mappings[first], self._mappings[last - 1]
            if before.start < start:
                kept.insert(0, before._replace(end=start))
            if after.end > end:
                kept.append(after._replace(start=end, file_offset=after.file_offset + end - after.start))
        self._mappings[first:last] = kept
        self._starts[first:last] = [mapping.start for mapping in kept]

    def code_at(self, address: int) -> bytes:
        """Empty where nothing is known to be mapped, or its file is not on this machine."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._mappings[at].end:
            return b""
        mapping = self._mappings[at]
        content = self._content(mapping.file)
        offset = address - mapping.start + mapping.file_offset
        return content[offset : offset + _CODE_BYTES] if content else b""

    def _content(self, file: str) -> mmap.mmap | None:
        if file not in self._contents:
            self._contents[file] = _map_file(Path(file))
        return self._contents[file]


def _map_file(path: Path) -> mmap.mmap | None:
    """The content of an ordinary file; None for anything else, which perf lists too ([vdso], a deleted file)."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return None
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
