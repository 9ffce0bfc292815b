"""Reads what `perf script` and `simpleperf report-sample` print: samples of any runner, with the names they know.

Machine code is not among them. Where perf printed its mappings too, and the files it names are on this machine, the
code is read from these.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from etprof.core.errors import TraceError
from etprof.core.samples import CodeLocation, KernelSamples

_HINT = (
    "Linux: perf record -F 1000 RUNNER ...; perf script --show-mmap-events -F tid,time,ip,sym,dso > perf.script. "
    "Android: simpleperf record ...; simpleperf report-sample > perf.script."
)
_PERF_LINE = re.compile(
    r"^\s*(?:.*[\s/])?(?P<tid>\d+)\s+(?:\[\d+\]\s+)?(?P<time>\d+\.\d+):\s+(?:\S.*:\s+)?(?P<ip>[0-9a-f]+)\s+"
    r"(?P<symbol>.+?)(?:\+0x[0-9a-f]+)?\s+\((?P<dso>[^()]*)\)\s*$"
)
# With call chains the frames stand below, each on a line of its own, the innermost first.
_PERF_HEAD = re.compile(
    r"^\S.*?\s(?:\d+/)?(?P<tid>\d+)\s+(?:\[\d+\]\s+)?(?P<time>\d+\.\d+):(?:\s+\d+)?(?:\s+\S+:)*\s*$"
)
_PERF_FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+)\s+(?P<symbol>.+?)(?:\+0x[0-9a-f]+)?\s+\((?P<dso>[^()]*)\)\s*$")
_MAPPING_LINE = re.compile(
    r"PERF_RECORD_MMAP2? [-\d/]+: \[0x(?P<start>[0-9a-f]+)\(0x(?P<size>[0-9a-f]+)\) @ (?:0x)?(?P<offset>[0-9a-f]+)"
    r"[^\]]*\]: \S+ (?P<file>/.+)$"
)
_CODE_BYTES = 16
_SIMPLEPERF_LINE = re.compile(r"^\s*(?P<key>[a-z_]+): ?(?P<value>.*)$")
_LOST = re.compile(r"^\s+lost_count: (\d+)\s*$", re.M)
_UNNAMED = ("[unknown]", "unknown", "")


class _Sample(NamedTuple):
    time_ns: int
    thread: int
    address: int
    symbol: str
    library: str
    code: bytes = b""


class _Mapping(NamedTuple):
    start: int
    end: int
    file_offset: int
    content: bytes

    def code_at(self, address: int) -> bytes:
        at = address - self.start + self.file_offset
        return self.content[at : at + _CODE_BYTES]


def read_perf_script(path: Path, architecture: str) -> KernelSamples:
    """Only the innermost frame of each sample counts."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
    is_simpleperf = re.search(r"^sample:\s*$", text, re.M) is not None
    samples = list(_read_simpleperf(text) if is_simpleperf else _read_perf(text))
    if not samples:
        raise TraceError(f"{path} holds no samples that perf script or simpleperf report-sample printed.", hint=_HINT)
    lost = sum(int(count) for count in _LOST.findall(text)) if is_simpleperf else 0
    return _build_samples(samples, architecture, lost)


def _read_perf(text: str) -> Iterator[_Sample]:
    mappings: list[_Mapping] = []
    head: re.Match[str] | None = None
    for line in text.splitlines():
        mapped = _MAPPING_LINE.search(line)
        if mapped:
            mappings += _open_mapping(mapped)
            continue
        whole = _PERF_LINE.match(line)
        frame = whole or (_PERF_FRAME.match(line) if head else None)
        if frame:
            yield _read_frame(whole or head or frame, frame, mappings)
        head = None if frame else _PERF_HEAD.match(line)


def _read_frame(head: re.Match[str], frame: re.Match[str], mappings: list[_Mapping]) -> _Sample:
    seconds, _, fraction = head["time"].partition(".")
    time_ns = int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])
    address = int(frame["ip"], 16)
    code = next((m.code_at(address) for m in reversed(mappings) if m.start <= address < m.end), b"")
    return _sample(time_ns, int(head["tid"]), address, frame["symbol"], frame["dso"])._replace(code=code)


def _open_mapping(found: re.Match[str]) -> list[_Mapping]:
    """The mapping with its file, or nothing where that file is not on this machine."""
    start = int(found["start"], 16)
    path = Path(found["file"])
    if not path.is_file():
        return []
    return [_Mapping(start, start + int(found["size"], 16), int(found["offset"], 16), path.read_bytes())]


def _read_simpleperf(text: str) -> Iterator[_Sample]:
    for block in re.split(r"^sample:\s*$", text, flags=re.M)[1:]:
        fields: dict[str, str] = {}
        for line in block.splitlines():
            found = _SIMPLEPERF_LINE.match(line)
            # Frames of the callers follow and repeat these keys.
            if found:
                fields.setdefault(found["key"], found["value"].strip())
        if fields.get("time", "").isdigit() and fields.get("thread_id", "").isdigit():
            address = int(fields.get("vaddr_in_file", "0"), 16)
            yield _sample(
                int(fields["time"]), int(fields["thread_id"]), address, fields.get("symbol", ""), fields.get("file", "")
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
