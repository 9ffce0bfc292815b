"""Mach-O files for tests: a small library for arm64, with symbols, function starts and a UUID, plain or universal."""

import struct
from collections.abc import Sequence
from typing import NamedTuple

ARM64, X86_64 = 0x0100000C, 0x01000007
PLAIN, ARM64E = 0, 0x80000002
UUID = bytes(range(16))
CODE_AT, CODE_BYTES = 0x1000, 0x400
RETURN, ADD = struct.pack("<I", 0xD65F03C0), struct.pack("<I", 0x0B010000)
LOCAL, EXPORTED, DEBUG, UNDEFINED = 0x0E, 0x0F, 0x2E, 0x01


class Symbol(NamedTuple):
    name: str
    offset: int
    kind: int = EXPORTED


def build_library(
    symbols: Sequence[Symbol],
    starts: Sequence[int] | None = None,
    *,
    base: int = 0,
    uuid: bytes = UUID,
    subtype: int = PLAIN,
    processor: int = ARM64,
    code: bytes = b"",
) -> bytes:
    """Offsets are from the image's base. Without `starts` there is no list of functions. Returns follow the `code`."""
    header_bytes = 32
    commands_bytes = (72 + 2 * 80) + 24 + 24 + (16 if starts is not None else 0)
    names, entries = _symbol_table(symbols, base)
    listed = _encode_starts(starts or ())
    entries_at = header_bytes + commands_bytes
    names_at = entries_at + len(entries)
    starts_at = names_at + len(names)
    code_at = starts_at + len(listed)
    commands = [_segment(base, code_at), struct.pack("<IIIIII", 2, 24, entries_at, len(symbols), names_at, len(names))]
    commands.append(struct.pack("<II", 0x1B, 24) + uuid)
    if starts is not None:
        commands.append(struct.pack("<IIII", 0x26, 16, starts_at, len(listed)))
    whole = b"".join(commands)
    assert len(whole) == commands_bytes
    header = struct.pack("<IIIIIIII", 0xFEEDFACF, processor, subtype, 6, len(commands), len(whole), 0, 0)
    return header + whole + entries + names + listed + code + RETURN * ((CODE_BYTES - len(code)) // 4)


def build_universal(*images: tuple[int, bytes], wide: bool = False) -> bytes:
    """Images for several processors in one file; `wide` has offsets of 64 bits."""
    at = 4096
    table, content = b"", b""
    for processor, image in images:
        form = ">IIQQII" if wide else ">IIIII"
        table += struct.pack(form, processor, 0, at, len(image), 12, *((0,) if wide else ()))
        content += image.ljust(-(-len(image) // 4096) * 4096, b"\0")
        at = 4096 + len(content)
    return (struct.pack(">II", 0xCAFEBABF if wide else 0xCAFEBABE, len(images)) + table).ljust(4096, b"\0") + content


def _segment(base: int, code_at: int) -> bytes:
    sections = [
        _section(b"__text", base + CODE_AT, CODE_BYTES, code_at, 0x80000400),
        _section(b"__const", base + CODE_AT + CODE_BYTES, 0x100, 0, 0),
    ]
    head = struct.pack("<II16sQQQQIIII", 0x19, 72 + 160, b"__TEXT", base, 0x4000, 0, 0x4000, 5, 5, 2, 0)
    return head + b"".join(sections)


def _section(name: bytes, address: int, size: int, offset: int, flags: int) -> bytes:
    return struct.pack("<16s16sQQIIIIIIII", name, b"__TEXT", address, size, offset, 2, 0, 0, flags, 0, 0, 0)


def _symbol_table(symbols: Sequence[Symbol], base: int) -> tuple[bytes, bytes]:
    names, entries = b" \0", b""
    for symbol in symbols:
        entries += struct.pack("<IBBHQ", len(names), symbol.kind, 1, 0, base + symbol.offset)
        names += symbol.name.encode() + b"\0"
    return names, entries


def _encode_starts(starts: Sequence[int]) -> bytes:
    """Differences, seven bits to a byte, and a zero at the end."""
    coded, before = b"", 0
    for start in starts:
        step, before = start - before, start
        while step >= 0x80:
            coded += bytes([step & 0x7F | 0x80])
            step >>= 7
        coded += bytes([step])
    return coded + b"\0"
