"""Reads what `perf script` and `simpleperf report-sample` print: samples of any runner, with the names they know.

Machine code is not among them. Where perf printed its mappings too, and the files it names are on this machine, the
code can be read from these; a recording of somebody else may name any file, so this is done only when asked for.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from etprof.core.errors import TraceError
from etprof.core.samples import CodeLocation, KernelSamples
from etprof.traces.mapped_code import MappedCode

_HINT = (
    "Linux: perf record -F 1000 RUNNER ...; perf script --show-mmap-events -F tid,time,ip,sym,dso > perf.script. "
    "Android: simpleperf record ...; simpleperf report-sample > perf.script."
)
# Patterns are matched against single tokens or from a fixed place, so that a line takes linear time; numbers have no
# more digits than fit into 64 bits, and a longer line than any printer writes is cut.
_LONGEST_LINE = 1 << 16
_TIME = re.compile(r"(\d{1,9})\.(\d{1,9}):", re.ASCII)
_THREAD = re.compile(r"(?:\d+/)?(\d{1,10})", re.ASCII)
_CPU = re.compile(r"\[\d+\]", re.ASCII)
_FRAME = re.compile(r"([0-9a-f]{1,16})\s+(\S.*)", re.ASCII)
_OFFSET = re.compile(r"\+0x[0-9a-f]+", re.ASCII)
_MAPPING_LINE = re.compile(
    r"PERF_RECORD_MMAP2? [-\d/]+: \[0x(?P<start>[0-9a-f]+)\(0x(?P<size>[0-9a-f]+)\) @ (?:0x)?(?P<offset>[0-9a-f]+)"
    r"[^\]]*\]: \S+ (?P<file>/.+)$"
)
_SIMPLEPERF_LINE = re.compile(r"\s*([a-z_]+): ?(.*)")
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_ADDRESS = re.compile(r"[0-9a-f]{1,16}", re.ASCII)
_UNNAMED = ("[unknown]", "unknown", "")


class _Sample(NamedTuple):
    time_ns: int
    thread: int
    address: int
    symbol: str
    library: str
    code: bytes = b""


class _Head(NamedTuple):
    """Whose sample it is and when it was taken; `rest` is what the line says after that."""

    time_ns: int
    thread: int
    rest: str


def read_perf_script(path: Path, architecture: str, *, reads_files: bool = False) -> KernelSamples:
    """Only the innermost frame of each sample counts. `reads_files` opens the files that the recording names."""
    dropped = 0
    try:
        if _is_simpleperf(path):
            records = list(_read_records(path))
            dropped = sum(_number(fields, "lost_count") or 0 for kind, fields in records if kind == "lost_situation")
            samples = [_describe(fields) for kind, fields in records if kind == "sample" and _is_complete(fields)]
        else:
            samples = list(_read_perf(path, MappedCode(reads_files=reads_files)))
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
    if not samples:
        raise TraceError(f"{path} holds no samples that perf script or simpleperf report-sample printed.", hint=_HINT)
    return _build_samples(samples, architecture, dropped)


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(_LONGEST_LINE):
            yield line.rstrip("\n")


def _is_simpleperf(path: Path) -> bool:
    return any(line.rstrip() == "sample:" for line in _lines(path))


def _read_perf(path: Path, mapped: MappedCode) -> Iterator[_Sample]:
    head: _Head | None = None
    for line in _lines(path):
        found = _MAPPING_LINE.search(line) if "PERF_RECORD_MMAP" in line else None
        if found:
            start, size, offset = (int(found[key], 16) for key in ("start", "size", "offset"))
            mapped.add(start, size, offset, found["file"])
            continue
        own = _read_head(line)
        # With call chains the frames stand below, each on a line of its own, the innermost first.
        frame = _find_frame(own.rest) if own else _read_frame(line.strip()) if head and line[:1].isspace() else None
        of = own or head
        if of and frame:
            address, symbol, library = frame
            sample = _sample(of.time_ns, of.thread, address, symbol, library)
            yield sample._replace(code=mapped.code_at(address))
        head = own if own and not frame else None


def _read_head(line: str) -> _Head | None:
    """The thread and the time that a sample starts with: `name 4711/4712 [001] 81234.567890: rest`."""
    before: list[str] = []
    for found in re.finditer(r"\S+", line):
        time = _TIME.fullmatch(found[0])
        words = before[:-1] if before and _CPU.fullmatch(before[-1]) else before
        thread = _THREAD.fullmatch(words[-1]) if time and words else None
        if time and thread:
            time_ns = int(time[1]) * 10**9 + int(time[2].ljust(9, "0"))
            return _Head(time_ns, int(thread[1]), line[found.end() :])
        before = [*before[-1:], found[0]]
    return None


def _find_frame(text: str) -> tuple[int, str, str] | None:
    """The frame that follows the name of the event, `cycles:`, or stands alone."""
    _, colon, behind = text.rpartition(": ")
    return (_read_frame(behind.strip()) if colon else None) or _read_frame(text.strip())


def _read_frame(text: str) -> tuple[int, str, str] | None:
    """Address, function and library of `7f21c0de10 function+0x48 (/opt/lib/library.so)`."""
    place, bracket, library = text.rpartition(" (")
    found = _FRAME.fullmatch(place.rstrip()) if bracket and library.endswith(")") else None
    if not found:
        return None
    name, plus, offset = found[2].rpartition("+0x")
    symbol = name if plus and _OFFSET.fullmatch(f"+0x{offset}") else found[2]
    return int(found[1], 16), symbol, library[:-1]


def _read_records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The records of simpleperf with what they are of; frames of callers repeat keys, and the first one counts."""
    kind, fields = "", dict[str, str]()
    for line in _lines(path):
        if line and not line[0].isspace():
            yield kind, fields
            kind, fields = line.rstrip().rstrip(":"), {}
        elif found := _SIMPLEPERF_LINE.fullmatch(line):
            fields.setdefault(found[1], found[2].strip())
    yield kind, fields


def _number(fields: Mapping[str, str], key: str) -> int | None:
    return int(fields[key]) if _NUMBER.fullmatch(fields.get(key, "")) else None


def _is_complete(fields: Mapping[str, str]) -> bool:
    return _number(fields, "time") is not None and _number(fields, "thread_id") is not None


def _describe(fields: Mapping[str, str]) -> _Sample:
    address = fields.get("vaddr_in_file", "")
    return _sample(
        int(fields["time"]),
        int(fields["thread_id"]),
        int(address, 16) if _ADDRESS.fullmatch(address) else 0,
        fields.get("symbol", ""),
        fields.get("file", ""),
    )


def _sample(time_ns: int, thread: int, address: int, symbol: str, library: str) -> _Sample:
    # simpleperf puts an offset behind names that it guessed.
    name = "" if symbol.strip() in _UNNAMED or "[+" in symbol else symbol.strip()
    return _Sample(time_ns, thread, address, name, PurePosixPath(library).name)


def _build_samples(samples: list[_Sample], architecture: str, dropped: int) -> KernelSamples:
    libraries = {name: i for i, name in enumerate(dict.fromkeys(s.library for s in samples))}
    places = {key: i for i, key in enumerate(dict.fromkeys(s[2:] for s in samples))}
    threads = {tid: i for i, tid in enumerate(dict.fromkeys(s.thread for s in samples))}
    time_ns = np.array([s.time_ns for s in samples], np.int64)
    return KernelSamples(
        architecture=architecture,
        interval_ns=0,
        start_ns=int(time_ns.min()),
        end_ns=int(time_ns.max()),
        dropped=dropped,
        overruns=0,
        main_thread=samples[0].thread,
        threads=tuple(threads),
        libraries=tuple(libraries),
        kernel_names=(),
        locations=tuple(
            CodeLocation(libraries[library], address, -1, symbol, code, in_system=library.startswith("[kernel"))
            for address, symbol, library, code in places
        ),
        time_ns=time_ns,
        location=np.array([places[s[2:]] for s in samples], np.uint32),
        thread=np.array([threads[s.thread] for s in samples], np.uint16),
    )
