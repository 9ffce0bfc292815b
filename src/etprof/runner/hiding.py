"""Hides CPU features from XNNPACK: clears them in cpuinfo's table, after proving that it is laid out as expected.

XNNPACK reads the table once, when its library is loaded. So this must run in a process that has not loaded it yet.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from etprof.core.errors import RunnerError
from etprof.runner.cpu_features import host_architecture, read_reported_features
from etprof.runner.isa import AMBIGUOUS_FEATURES, LAYOUTS, IsaLayout, resolve_hidden

# Fewer agreeing features than this could be chance.
MINIMUM_AGREEMENTS = 8


# dladdr1's request for the symbol table's entry of an address (glibc's link.h).
_RTLD_DL_SYMENT = 1


class Table(Protocol):
    """Bytes that can be read and cleared: cpuinfo's own, or a test's."""

    def __getitem__(self, index: int, /) -> int: ...
    def __setitem__(self, index: int, value: int, /) -> None: ...


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _ElfSymbol(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_uint32),
        ("info", ctypes.c_uint8),
        ("other", ctypes.c_uint8),
        ("section", ctypes.c_uint16),
        ("value", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class IsaView:
    """What cpuinfo saw on this CPU, and what of it was hidden."""

    seen: tuple[str, ...]
    hidden: tuple[str, ...]
    proof: str


def hide_features(threadpool_library: Path, requested: tuple[str, ...]) -> IsaView:
    """Loads the library that holds cpuinfo's table, proves the layout, and clears what was requested."""
    architecture = host_architecture()
    layout = LAYOUTS.get(architecture)
    if layout is None:
        if requested:
            raise RunnerError(f"Features cannot be hidden on {architecture}: its cpuinfo layout is unknown.")
        return IsaView((), (), "unproven: the cpuinfo layout of this architecture is unknown")
    library = ctypes.CDLL(str(threadpool_library), mode=ctypes.RTLD_GLOBAL)
    library.cpuinfo_initialize.restype = ctypes.c_bool
    if not library.cpuinfo_initialize():
        raise RunnerError("cpuinfo could not identify this CPU, so no feature can be hidden from XNNPACK.")
    table = (ctypes.c_uint8 * layout.size).in_dll(library, "cpuinfo_isa")
    return hide_in_table(table, layout, read_reported_features(), requested, table_bytes=_read_symbol_size(table))


def hide_in_table(
    table: Table,
    layout: IsaLayout,
    reported: Mapping[str, bool],
    requested: tuple[str, ...],
    *,
    table_bytes: int | None = None,
) -> IsaView:
    hidden = resolve_hidden(layout.architecture, requested)
    disagreement = find_disagreement(table, layout, reported, table_bytes=table_bytes)
    if disagreement and requested:
        raise RunnerError(
            f"Refusing to hide {', '.join(requested)}: {disagreement}.",
            hint="The installed executorch lays out cpuinfo differently. `etprof doctor` names the tested version.",
        )
    if disagreement:
        return IsaView((), (), f"unproven: {disagreement}")
    seen = tuple(name for name, offset in layout.offsets.items() if table[offset])
    present = tuple(name for name in hidden if name in seen)
    if requested and not present:
        raise RunnerError(
            f"Nothing to hide: this CPU has none of {', '.join(requested)}.",
            hint="`etprof doctor` lists what this CPU has.",
        )
    for name in present:
        table[layout.offsets[name]] = 0
    return IsaView(seen, present, f"{len(_strict(reported))} features agree with the operating system")


def find_disagreement(
    table: Table | Sequence[int],
    layout: IsaLayout,
    reported: Mapping[str, bool],
    *,
    table_bytes: int | None = None,
) -> str:
    """The first thing that contradicts the layout, as a phrase; empty when it is proven.

    `table_bytes` is the size that the dynamic loader reports for the table, None where it does not.
    """
    if table_bytes is not None and table_bytes != layout.size:
        return f"cpuinfo's table has {table_bytes} bytes, not the expected {layout.size}"
    strict = _strict(reported)
    if len(strict) < MINIMUM_AGREEMENTS:
        return f"the operating system reports only {len(strict)} features, too few to prove cpuinfo's layout"
    for name, offset in layout.offsets.items():
        if table[offset] > 1:
            return f"cpuinfo's field {name!r} holds {table[offset]}, not 0 or 1"
    for name, present in strict.items():
        if bool(table[layout.offsets[name]]) != present:
            said = "present" if present else "absent"
            return f"the operating system says {name!r} is {said}, cpuinfo's table says otherwise"
    if not any(strict.values()):
        return "the operating system reports no feature as present, so nothing proves cpuinfo's layout"
    return ""


def _strict(reported: Mapping[str, bool]) -> dict[str, bool]:
    return {name: present for name, present in reported.items() if name not in AMBIGUOUS_FEATURES}


def _read_symbol_size(table: ctypes.Array[ctypes.c_uint8]) -> int | None:
    dladdr1 = getattr(ctypes.CDLL(None), "dladdr1", None)
    if dladdr1 is None:
        return None
    info, entry = _DlInfo(), ctypes.POINTER(_ElfSymbol)()
    address = ctypes.c_void_p(ctypes.addressof(table))
    found = dladdr1(address, ctypes.byref(info), ctypes.byref(entry), ctypes.c_int(_RTLD_DL_SYMENT))
    return int(entry.contents.size) if found and entry and info.address == address.value else None
