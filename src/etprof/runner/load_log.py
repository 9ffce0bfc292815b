"""The stages of a start in a Python process: how long each took, and what memory is held then; and the page cache."""

import ctypes
import mmap
import os
import resource
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etprof.core.memory import LoadStage

_PROC = Path("/proc/self")
# Of Linux: the record of the peak, and nothing else, begins again.
_RESET_PEAK = b"5"
_READ_BYTES = 1 << 20


class LoadLog:
    """Reading memory takes milliseconds, which are in no duration."""

    def __init__(self, model: Path, *, with_memory: bool) -> None:
        self._model = os.path.realpath(model)
        self._with_memory = with_memory
        self._began_ns = 0
        self.stages: list[LoadStage] = []

    def begin(self) -> None:
        if self._with_memory:
            reset_peak()
        self._began_ns = time.perf_counter_ns()

    def end(self, stage: str) -> None:
        self._add(stage, time.perf_counter_ns() - self._began_ns)
        self.begin()

    def note(self, stage: str) -> None:
        """A moment, which has no duration."""
        self._add(stage, None)
        self.begin()

    def duration_ns(self, *stages: str) -> int:
        return sum(each.duration_ns or 0 for each in self.stages if each.name in stages)

    @property
    def peak_bytes(self) -> int:
        """The system's own is lost where it was reset after each stage."""
        known = [number for each in self.stages for number in (each.peak_bytes, each.rss_bytes) if number]
        return max([read_peak_bytes(), *known])

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(stage) for stage in self.stages]

    def _add(self, stage: str, duration_ns: int | None) -> None:
        peak = read_peak_bytes() if self._with_memory else None
        memory = _read_memory(self._model) if self._with_memory else {}
        self.stages.append(LoadStage(stage, duration_ns, peak, **memory))


def read_peak_bytes() -> int:
    """The most memory this program itself held: getrusage would carry a larger parent's peak across exec on Linux."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = (_PROC / "status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def reset_peak() -> None:
    """Where the system does not allow it, the peak stays that of the whole process."""
    try:
        (_PROC / "clear_refs").write_bytes(_RESET_PEAK)
    except OSError:
        return


def _read_memory(model: str) -> dict[str, int]:
    """Resident memory by what backs it; nothing on systems that do not tell."""
    smaps = _PROC / "smaps"
    if not smaps.is_file():
        return {}
    found = dict.fromkeys(
        ("rss_bytes", "pss_bytes", "model_bytes", "library_bytes", "cache_bytes", "file_bytes", "anonymous_bytes"), 0
    )
    part = "anonymous_bytes"
    for line in smaps.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):
            part = _name_part(line, model)
        elif key == "Rss:":
            size = int(rest.split()[0]) * 1024
            found["rss_bytes"] += size
            found[part] += size
        elif key == "Pss:":
            found["pss_bytes"] += int(rest.split()[0]) * 1024
    return found if found["rss_bytes"] else {}


def _name_part(line: str, model: str) -> str:
    """What a mapping counts as; its line has an address, flags, an offset, a device, an inode, and perhaps a path."""
    words = line.split(None, 5)
    path = words[5] if len(words) > 5 else ""
    if words[4] == "0":
        return "anonymous_bytes"
    if path == model:
        return "model_bytes"
    return "library_bytes" if ".so" in path or path == sys.executable or "python" in path else "file_bytes"


def prepare_page_cache(path: Path, wanted: str) -> float | None:
    """Puts the file into the page cache (in) or out of it (out); gives the share that is in it, None if unknown."""
    if not sys.platform.startswith("linux"):
        return None
    with path.open("rb") as file:
        if wanted == "in":
            while file.read(_READ_BYTES):
                pass
        elif wanted == "out":
            # Pages that are not on the disk yet would stay.
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return _read_cached_share(file.fileno())


def _read_cached_share(file: int) -> float | None:
    size = os.fstat(file).st_size
    if not size:
        return None
    pages = -(-size // mmap.PAGESIZE)
    residency = (ctypes.c_ubyte * pages)()
    # Python's own mapping has an address that can be had only where it may be written to: such a copy is never made.
    with mmap.mmap(file, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        view = (ctypes.c_ubyte * size).from_buffer(mapped)
        libc = ctypes.CDLL(None, use_errno=True)
        status = libc.mincore(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(size), residency)
        del view
    return None if status else sum(each & 1 for each in residency) / pages
