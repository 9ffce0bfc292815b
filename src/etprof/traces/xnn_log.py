"""Reads the kernels out of XNNPACK's debug log, which a user's own build prints when it registers them.

Registered is not executed: XNNPACK logs what it would use for each operator type, once, at start-up.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from etprof.core.errors import TraceError

_KERNEL = re.compile(r"\bxnn_[a-z0-9_]*_ukernel[a-z0-9_]*")
# Element types of XNNPACK's names: inputs, outputs and weights may differ (qd8_f32_qc8w).
_TYPE = r"(?:p?f16|p?f32|bf16|f16c|q[csdup]8|qdu8|qb4w|q[bcsu][248]w|pqs8|p?x(?:8|16|24|32|64)|[su](?:8|16|32)|xx)"
_NAME = re.compile(
    rf"^xnn_(?P<types>{_TYPE}(?:_{_TYPE}|_f32acc|_f16acc)*)_(?P<operation>.+?)_ukernel(?:_(?P<tile>[^_]+))?(?:__(?P<made_of>.*))?$"
)
_ISAS = (
    "neonsme2", "neonsme", "sme2", "sme", "neonsve", "sve", "neoni8mm", "neonbf16", "neondotfp16arith", "neondot",
    "neonfp16arith", "neonfp16", "neonfma", "neonv8", "neon", "avx512amx", "avx512vnnigfni", "avx512vnni",
    "avx512vbmi", "avx512fp16", "avx512bf16", "avx512skx", "avx512f", "avx256vnnigfni", "avx256vnni", "avx256skx",
    "avxvnniint8", "avxvnni", "avx2", "fma3", "f16c", "avx", "sse41", "sse4", "ssse3", "sse2fma", "sse2", "sse",
    "wasmsimd", "wasm", "hvx", "rvv", "aarch64", "asm", "scalar",
)  # fmt: skip


@dataclass(frozen=True)
class RegisteredKernel:
    """A kernel's name taken apart: data types in their order, what it computes, its tile, its instructions."""

    name: str
    data_types: tuple[str, ...]
    operation: str
    tile: str
    isa: str


def read_xnn_log(path: Path) -> tuple[RegisteredKernel, ...]:
    """Every kernel the log names, once, in the order of the log."""
    hint = "Give the log of a runner built with XNNPACK's debug logging (XNN_LOG_LEVEL=5 when compiling XNNPACK)."
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    names = dict.fromkeys(_KERNEL.findall(text))
    if not names:
        raise TraceError(f"{path} names no XNNPACK kernel.", hint=hint)
    return tuple(parse_kernel_name(name) for name in names)


def parse_kernel_name(name: str) -> RegisteredKernel:
    """xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot: types qd8, f32, qc8w; gemm_minmax; 4x16c4; neondot."""
    found = _NAME.match(name)
    if not found:
        return RegisteredKernel(name, (), "", "", _find_isa(name))
    types = tuple(part for part in found["types"].split("_") if not part.endswith("acc"))
    return RegisteredKernel(name, types, found["operation"], found["tile"] or "", _find_isa(found["made_of"] or ""))


def _find_isa(text: str) -> str:
    words = text.split("_")
    return next((isa for isa in _ISAS if isa in words), "")
