"""Adds the whole machine code of sampled AArch64 functions to their samples, out of the library's own file.

A sample shows the code from its address to the next branch, and an emulator takes samples after branches only. Assembly
of which the library tells neither name nor beginning is a function from one return instruction to the next.
"""

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from etprof.core.samples import CodeLocation, KernelSamples

_WORD = 4
_RETURN = (0xD65F03C0).to_bytes(_WORD, "little")
_LOADED, _PROGRAM_HEADERS = 1, 0x20


class _Segment(NamedTuple):
    address: int
    file_offset: int
    size: int


def add_function_code(samples: KernelSamples, library: Path) -> KernelSamples:
    """The samples with a location for every instruction of each unnamed function of this library that was sampled."""
    number = samples.libraries.index(library.name)
    content = library.read_bytes()
    segments = list(_list_segments(content))
    found: dict[int, bytes] = {}
    locations = []
    for place in samples.locations:
        code = _find_code(place, content, segments) if place.library == number and not place.symbol else None
        if code:
            found[code[0]] = max(found.get(code[0], b""), code[1], key=len)
        locations.append(replace(place, function=code[0]) if code else place)
    added = [
        CodeLocation(number, start + at, start, "", code[at : at + _WORD], in_system=False)
        for start, code in found.items()
        for at in range(0, len(code), _WORD)
    ]
    return replace(samples, locations=(*locations, *added))


def _find_code(place: CodeLocation, content: bytes, segments: list[_Segment]) -> tuple[int, bytes] | None:
    """Where the function around a place begins, and its code up to the return that follows."""
    inside = (each for each in segments if each.address <= place.offset < each.address + each.size)
    segment = next(inside, None)
    if segment is None:
        return None
    shift = segment.file_offset - segment.address
    start = place.function + shift if place.function >= 0 else _find_start(content, place.offset + shift, segment)
    end = _find_return(content, place.offset + shift, segment.file_offset + segment.size)
    return start - shift, content[start:end]


def _find_start(content: bytes, at: int, segment: _Segment) -> int:
    found = content.rfind(_RETURN, segment.file_offset, at)
    while found >= 0 and (found - segment.file_offset) % _WORD:
        found = content.rfind(_RETURN, segment.file_offset, found + _WORD - 1)
    return found + _WORD if found >= 0 else segment.file_offset


def _find_return(content: bytes, at: int, end: int) -> int:
    found = content.find(_RETURN, at, end)
    while found >= 0 and (found - at) % _WORD:
        found = content.find(_RETURN, found + 1, end)
    return found + _WORD if found >= 0 else end


def _list_segments(content: bytes) -> Iterator[_Segment]:
    """What an ELF file of 64 bits has loaded, and where."""
    (headers,) = struct.unpack_from("<Q", content, _PROGRAM_HEADERS)
    size, count = struct.unpack_from("<HH", content, 0x36)
    for number in range(count):
        kind, _, offset, address, _, stored = struct.unpack_from("<IIQQQQ", content, headers + number * size)
        if kind == _LOADED:
            yield _Segment(address, offset, stored)
