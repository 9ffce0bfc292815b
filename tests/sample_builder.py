"""Builds kernel samples, and the file that holds them, place by place."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etdump_builder import Event
from etprof.analysis.kernels.evidence import build_evidence
from etprof.core.kernel_evidence import KernelEvidence
from etprof.core.loaded_run import SampledBlock
from etprof.core.plan import Variant
from etprof.core.samples import CodeLocation, KernelSamples
from etprof.core.trace import Trace
from trace_builder import read_inferences

XNNPACK = "libexecutorch_backend_xnnpack.so"
POOL = "libexecutorch_threadpool.so"
LIBC = "libc.so.6"
LIBRARIES = (XNNPACK, POOL, LIBC)

# AArch64: fmopa, fmla (vector), add. x86-64: vaddps zmm, vaddps ymm, add.
SME, NEON, ARM_SCALAR = (word.to_bytes(4, "little") for word in (0x80812000, 0x4E22CC20, 0x8B020020))
AVX512, AVX2, X86_SCALAR = bytes.fromhex("62f1744858c2"), bytes.fromhex("c4e275b8c2"), bytes.fromhex("4801d8")

US = 1000
SEEN = ("sme", "sme2")
FIRST, SECOND = "Convolution (NHWC, PF32) IGEMM #1", "Fully Connected (NC, F16) GEMM #1"


def place(
    code: bytes, symbol: str = "", *, library: str = XNNPACK, function: int = 0x100, in_system: bool = False
) -> CodeLocation:
    return CodeLocation(LIBRARIES.index(library), function + 4, function, symbol, code, in_system)


MOPA, PLAIN = place(SME, "kai_kernel_sme2_mopa"), place(NEON, "", function=0x900)


def met(count: int, where: CodeLocation, start_us: int) -> list[tuple[int, CodeLocation]]:
    """So many samples at one place, a nanosecond apart."""
    return [(start_us * US + i, where) for i in range(count)]


def samples(taken: Sequence[tuple[int, CodeLocation]], architecture: str = "arm64", **changes: Any) -> KernelSamples:
    """Samples at these times, in nanoseconds, each at its place."""
    places = list(dict.fromkeys(where for _, where in taken))
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
        "time_ns": np.array([when for when, _ in taken], np.int64),
        "location": np.array([places.index(where) for _, where in taken], np.uint32),
        "thread": np.zeros(len(taken), np.uint16),
    }
    return KernelSamples(**{**fields, **changes})


def a_sampled_trace(folder: Path, runs: int = 2, names: tuple[str, str] = (FIRST, SECOND)) -> Trace:
    """An inference each millisecond: the first operator from 10 us on, the second from 110, a portable one from 300."""

    def inference(at: int) -> tuple[Event, ...]:
        return (
            Event(names[0], at + 10 * US, at + 110 * US, 0, delegated=True),
            Event(names[1], at + 110 * US, at + 210 * US, 0, delegated=True),
            Event("DELEGATE_CALL", at + 5 * US, at + 220 * US, 0),
            Event("native_call_mean.out", at + 300 * US, at + 350 * US, 1),
            Event("OPERATOR_CALL", at + 300 * US, at + 350 * US, 1),
            Event("Method::execute", at, at + 400 * US),
        )

    return read_inferences(folder, *(inference(run * 1000 * US) for run in range(runs)))


def prove(trace: Trace, *blocks: KernelSamples, **settings: Any) -> KernelEvidence:
    """What blocks prove that were sampled beside this trace; on a CPU with SME2, unless `settings` say otherwise."""
    known: dict[str, Any] = {"seen": SEEN}
    sampled = [SampledBlock(block, trace) for block in blocks]
    return build_evidence(Variant("on", 1), sampled, **{**known, **settings})


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
