"""Reads the native runner's samples of the program counter; the format is in docs/reference/file-formats.md."""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

from etprof.core.errors import TraceError
from etprof.core.regular_files import read_regular
from etprof.core.samples import CodeLocation, KernelSamples

FORMAT = "etprof kernel samples"
_SCHEMA_VERSION = 1
_HINT = "Sample again: etprof kernels run MODEL.pte."


class _Header(BaseModel):
    model_config = ConfigDict(extra="ignore")

    format: str
    schema_version: int
    architecture: str
    interval_ns: NonNegativeInt
    start_ns: int
    end_ns: int
    samples: NonNegativeInt
    dropped: NonNegativeInt
    overruns: NonNegativeInt
    main_thread: int
    threads: tuple[int, ...]
    libraries: tuple[str, ...]
    kernel_names: tuple[str, ...]
    locations: tuple[tuple[int, int, int, str, str, bool], ...]


def read_kernel_samples(path: Path) -> KernelSamples:
    try:
        data = read_regular(path)
    except OSError as error:
        raise TraceError(f"The kernel samples {path} cannot be read: {error.strerror}.", hint=_HINT) from error
    head, newline, columns = data.partition(b"\n")
    if not newline:
        raise TraceError(f"{path} holds no kernel samples: it has no header line.", hint=_HINT)
    header = _read_header(path, head)
    count = header.samples
    if len(columns) != count * 14:
        raise TraceError(f"{path} was cut off: {len(columns)} bytes of samples, not {count * 14}.", hint=_HINT)
    time_ns = np.frombuffer(columns, "<i8", count)
    location = np.frombuffer(columns, "<u4", count, 8 * count)
    thread = np.frombuffer(columns, "<u2", count, 12 * count)
    if count and (location.max() >= len(header.locations) or thread.max() >= len(header.threads)):
        raise TraceError(f"{path} is damaged: a sample refers to a location that is not in its table.", hint=_HINT)
    fields: dict[str, Any] = header.model_dump(exclude={"format", "schema_version", "samples", "locations"})
    return KernelSamples(
        **fields,
        locations=tuple(_build_location(path, entry, len(header.libraries)) for entry in header.locations),
        time_ns=time_ns,
        location=location,
        thread=thread,
    )


def _read_header(path: Path, head: bytes) -> _Header:
    try:
        header = _Header.model_validate_json(head)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its header"
        raise TraceError(f"{path} holds no kernel samples: {where}: {first['msg']}.", hint=_HINT) from error
    if (header.format, header.schema_version) != (FORMAT, _SCHEMA_VERSION):
        raise TraceError(
            f"{path} is {header.format!r} of version {header.schema_version}; "
            f"this etprof reads {FORMAT!r} of version {_SCHEMA_VERSION}.",
            hint="Rebuild the runner with `etprof runner build`, and sample again.",
        )
    return header


def _build_location(path: Path, entry: tuple[int, int, int, str, str, bool], libraries: int) -> CodeLocation:
    library, offset, function, symbol, code, in_system = entry
    try:
        raw = bytes.fromhex(code)
    except ValueError as error:
        raise TraceError(f"{path} is damaged: {code!r} is not machine code.", hint=_HINT) from error
    if not -1 <= library < libraries:
        raise TraceError(f"{path} is damaged: there is no library number {library}.", hint=_HINT)
    return CodeLocation(library, offset, function, symbol, raw, in_system)
