"""Builds kernel samples, and the file that holds them, place by place."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etprof.core.samples import CodeLocation, KernelSamples

XNNPACK = "libexecutorch_backend_xnnpack.so"
POOL = "libexecutorch_threadpool.so"
LIBC = "libc.so.6"
LIBRARIES = (XNNPACK, POOL, LIBC)

# AArch64: fmopa, fmla (vector), add. x86-64: vaddps zmm, vaddps ymm, add.
SME, NEON, ARM_SCALAR = (word.to_bytes(4, "little") for word in (0x80812000, 0x4E22CC20, 0x8B020020))
AVX512, AVX2, X86_SCALAR = bytes.fromhex("62f1744858c2"), bytes.fromhex("c5f458c2"), bytes.fromhex("4801d8")


def place(
    code: bytes, symbol: str = "", *, library: str = XNNPACK, function: int = 0x100, in_system: bool = False
) -> CodeLocation:
    return CodeLocation(LIBRARIES.index(library), function + 4, function, symbol, code, in_system)


def samples(met: Sequence[tuple[int, CodeLocation]], architecture: str = "arm64", **changes: Any) -> KernelSamples:
    """Samples at these times, in nanoseconds, each at its place."""
    places = list(dict.fromkeys(where for _, where in met))
    fields: dict[str, Any] = {
        "architecture": architecture,
        "interval_ns": 1000,
        "start_ns": 0,
        "end_ns": 10_000,
        "dropped": 0,
        "overruns": 0,
        "main_thread": 7,
        "threads": (7,),
        "libraries": LIBRARIES,
        "kernel_names": (),
        "locations": tuple(places),
        "time_ns": np.array([when for when, _ in met], np.int64),
        "location": np.array([places.index(where) for _, where in met], np.uint32),
        "thread": np.zeros(len(met), np.uint16),
    }
    return KernelSamples(**{**fields, **changes})


def write_samples(path: Path, content: KernelSamples, **header_changes: Any) -> Path:
    """The file as the native runner writes it; changes to its header make it a damaged one."""
    header = {
        "format": "etprof kernel samples",
        "schema_version": 1,
        **{
            name: getattr(content, name)
            for name in (
                "architecture", "interval_ns", "start_ns", "end_ns", "dropped", "overruns", "main_thread", "threads",
                "libraries", "kernel_names",
            )
        },
        "samples": len(content),
        "locations": [
            [p.library, p.offset, p.function, p.symbol, p.code.hex(), int(p.in_system)] for p in content.locations
        ],
        **header_changes,
    }  # fmt: skip
    columns = content.time_ns.astype("<i8").tobytes() + content.location.astype("<u4").tobytes()
    path.write_bytes(json.dumps(header).encode() + b"\n" + columns + content.thread.astype("<u2").tobytes())
    return path
