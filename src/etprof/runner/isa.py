"""The CPU features that cpuinfo reports to XNNPACK: where each is stored, and how the system calls it.

The layout of cpuinfo's `cpuinfo_isa` belongs to the ExecuTorch wheel this was read from (1.5.1). It is never trusted:
`hiding.py` compares it with what the operating system reports before a single byte is changed.
"""

from dataclasses import dataclass

from etprof.core.extensions import features_to_hide

_X86_64_NAMES = (
    "rdtscp", "rdpid", "sysenter", "msr", "clzero", "clflush", "clflushopt", "mwait", "mwaitx", "fxsave", "xsave",
    "three_d_now", "three_d_now_plus", "prefetch", "prefetchw", "prefetchwt1", "sse3", "ssse3", "sse4_1", "sse4_2",
    "sse4a", "misaligned_sse", "avx", "avxvnni", "fma3", "fma4", "xop", "f16c", "avx2", "avx512f", "avx512pf",
    "avx512er", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi", "avx512vbmi2",
    "avx512bitalg", "avx512vpopcntdq", "avx512vnni", "avx512bf16", "avx512fp16", "avx512vp2intersect",
    "avx512_4vnniw", "avx512_4fmaps", "avx10_1", "avx10_2", "amx_bf16", "amx_tile", "amx_int8", "amx_fp16",
    "avx_vnni_int8", "avx_vnni_int16", "avx_ne_convert", "hle", "rtm", "xtest", "mpx", "cmpxchg16b", "clwb",
    "movbe", "lahf_sahf", "fs_gs_base", "lzcnt", "popcnt", "tbm", "bmi", "bmi2", "adx", "aes", "vaes", "pclmulqdq",
    "vpclmulqdq", "gfni", "rdrand", "rdseed", "sha", "rng", "ace", "ace2", "phe", "pmm", "lwp",
)  # fmt: skip

_ARM64_NAMES_LOW = (
    "atomics", "bf16", "sve", "sve2", "i8mm", "sme", "sme2", "sme2p1", "sme_i16i32", "sme_bi32i32", "sme_b16b16",
    "sme_f16f16",
)  # fmt: skip
# Bytes 12 to 19 hold the SVE and SME vector lengths, two 32-bit numbers.
_ARM64_NAMES_HIGH = (
    "rdm", "fp16arith", "dot", "jscvt", "fcma", "fhm", "aes", "sha1", "sha2", "pmull", "crc32",
)  # fmt: skip

# cpuinfo's name of a feature, from the flag in /proc/cpuinfo that must agree with it.
X86_64_LINUX_FLAGS = {
    "pni": "sse3", "ssse3": "ssse3", "sse4_1": "sse4_1", "sse4_2": "sse4_2", "sse4a": "sse4a",
    "misalignsse": "misaligned_sse", "avx": "avx", "avx_vnni": "avxvnni", "fma": "fma3", "fma4": "fma4", "xop": "xop",
    "f16c": "f16c", "avx2": "avx2", "avx512f": "avx512f", "avx512cd": "avx512cd", "avx512dq": "avx512dq",
    "avx512bw": "avx512bw", "avx512vl": "avx512vl", "avx512ifma": "avx512ifma", "avx512vbmi": "avx512vbmi",
    "avx512_vbmi2": "avx512vbmi2", "avx512_bitalg": "avx512bitalg", "avx512_vpopcntdq": "avx512vpopcntdq",
    "avx512_vnni": "avx512vnni", "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16",
    "avx512_vp2intersect": "avx512vp2intersect", "amx_bf16": "amx_bf16",
    "amx_tile": "amx_tile", "amx_int8": "amx_int8", "movbe": "movbe", "bmi1": "bmi", "bmi2": "bmi2", "adx": "adx",
    "aes": "aes", "vaes": "vaes", "pclmulqdq": "pclmulqdq", "vpclmulqdq": "vpclmulqdq", "gfni": "gfni",
    "rdrand": "rdrand", "rdseed": "rdseed", "sha_ni": "sha", "popcnt": "popcnt", "abm": "lzcnt", "clwb": "clwb",
    "cx16": "cmpxchg16b",
}  # fmt: skip

# cpuinfo's name of a feature, from (auxiliary vector entry, bit): entry 16 is AT_HWCAP, 26 is AT_HWCAP2.
ARM64_LINUX_HWCAPS = {
    (16, 3): "aes", (16, 4): "pmull", (16, 5): "sha1", (16, 6): "sha2", (16, 7): "crc32", (16, 8): "atomics",
    (16, 10): "fp16arith", (16, 12): "rdm", (16, 13): "jscvt", (16, 14): "fcma", (16, 20): "dot", (16, 22): "sve",
    (16, 23): "fhm", (26, 1): "sve2", (26, 13): "i8mm", (26, 14): "bf16", (26, 23): "sme", (26, 37): "sme2",
    (26, 38): "sme2p1", (26, 39): "sme_i16i32", (26, 40): "sme_bi32i32", (26, 41): "sme_b16b16",
    (26, 42): "sme_f16f16",
}  # fmt: skip

# cpuinfo's name of a feature, from the name below hw.optional.arm on macOS.
ARM64_MACOS_SYSCTLS = {
    "FEAT_LSE": "atomics", "FEAT_BF16": "bf16", "FEAT_I8MM": "i8mm", "FEAT_SME": "sme", "FEAT_SME2": "sme2",
    "FEAT_RDM": "rdm", "FEAT_FP16": "fp16arith", "FEAT_DotProd": "dot", "FEAT_JSCVT": "jscvt", "FEAT_FCMA": "fcma",
    "FEAT_FHM": "fhm",
}  # fmt: skip

# Both sides may be right when they differ here, so these prove nothing. Arm: cpuinfo infers them from the core's
# identity where old kernels do not report them. x86: Linux withdraws random number instructions that are faulty
# (RDSEED on AMD's Zen 5), while the CPU itself, which cpuinfo asks, still has them.
AMBIGUOUS_FEATURES = frozenset({"rdm", "fp16arith", "dot", "rdrand", "rdseed"})


@dataclass(frozen=True)
class IsaLayout:
    """Where cpuinfo keeps each feature, a byte offset a name, and how many bytes its table has."""

    architecture: str
    offsets: dict[str, int]
    size: int


LAYOUTS = {
    "x86_64": IsaLayout("x86_64", {n: i for i, n in enumerate(_X86_64_NAMES)}, len(_X86_64_NAMES)),
    "arm64": IsaLayout(
        "arm64",
        {n: i for i, n in enumerate(_ARM64_NAMES_LOW)} | {n: 20 + i for i, n in enumerate(_ARM64_NAMES_HIGH)},
        # One byte of padding: the numbers in the middle make the whole a multiple of four bytes.
        20 + len(_ARM64_NAMES_HIGH) + 1,
    ),
}


def resolve_hidden(architecture: str, requested: tuple[str, ...]) -> tuple[str, ...]:
    """The features that a list such as `sme,sme2` or `avx512` stands for, each once, in memory order."""
    wanted = features_to_hide(architecture, requested)
    return tuple(n for n in LAYOUTS[architecture].offsets if n in wanted) if wanted else ()
