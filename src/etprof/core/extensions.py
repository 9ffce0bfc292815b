"""The instruction-set extensions of CPUs: one table for hiding, for evidence that they executed, and for names."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from etprof.core.errors import UnknownNameError, UsageError

ARM64, X86_64 = "arm64", "x86_64"

_SME = ("sme", "sme2", "sme2p1", "sme_i16i32", "sme_bi32i32", "sme_b16b16", "sme_f16f16")
_AMX = ("amx_bf16", "amx_tile", "amx_int8", "amx_fp16")
_AVX512 = (
    "avx512f", "avx512pf", "avx512er", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi",
    "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "avx512vnni", "avx512bf16", "avx512fp16", "avx512vp2intersect",
    "avx512_4vnniw", "avx512_4fmaps", "avx10_1", "avx10_2",
)  # fmt: skip
_AVX2 = ("avx2", "fma3", "avxvnni", "avx_vnni_int8", "avx_vnni_int16", "avx_ne_convert")

# What a user may ask to hide, and the features that go with it. A half-hidden SME is no baseline, so any SME name hides
# all of it; what needs AVX-512 or AVX2 goes with them.
HIDDEN_TOGETHER: dict[str, dict[str, tuple[str, ...]]] = {
    ARM64: {
        "sme": _SME, "sme2": _SME, "sve": ("sve", "sve2"), "sve2": ("sve2",), "i8mm": ("i8mm",), "bf16": ("bf16",),
        "dot": ("dot",), "fp16arith": ("fp16arith", "fhm"), "matrix": (*_SME, "i8mm", "bf16"),
    },
    X86_64: {
        "amx": _AMX, "avx512": (*_AVX512, *_AMX), "avx512vnni": ("avx512vnni",), "avx2": (*_AVX2, *_AVX512, *_AMX),
        "matrix": _AMX,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Extension:
    """An extension a comparison can be about.

    A CPU that has `feature` has it. `hide_isa` hides it. `classes` are those instruction classes that only kernels for
    it execute, and `marks` what such kernels have in their names.
    """

    slug: str
    label: str
    feature: str
    hide_isa: tuple[str, ...]
    classes: tuple[str, ...]
    marks: tuple[str, ...]


# The best first: the default for a comparison on a CPU that has it.
EXTENSIONS: dict[str, tuple[Extension, ...]] = {
    ARM64: (
        Extension("sme2", "SME2", "sme2", ("sme", "sme2"), ("SME",), ("sme",)),
        Extension("sme2", "SME", "sme", ("sme", "sme2"), ("SME",), ("sme",)),
        Extension("dot", "i8mm and dot product", "i8mm", ("i8mm", "dot"), (), ("i8mm", "dot")),
        Extension("dot", "dot product", "dot", ("dot",), (), ("dot",)),
    ),
    X86_64: (
        Extension("avx512", "AVX-512 and AMX", "amx_tile", ("avx512", "amx"), ("AVX-512", "AMX"), ("avx512", "amx")),
        Extension("avx512", "AVX-512", "avx512f", ("avx512", "amx"), ("AVX-512", "AMX"), ("avx512", "amx")),
        Extension("avx2", "AVX2", "avx2", ("avx2",), ("AVX2", "AVX-512", "AMX"), ("avx2", "avx512", "amx")),
    ),
}


def best_extension(architecture: str, features: Collection[str]) -> Extension:
    """The extension to compare where the user names none: the best one that the CPU has."""
    for extension in EXTENSIONS.get(architecture, ()):
        if extension.feature in features:
            return extension
    raise UsageError(
        f"This {architecture} CPU has no instruction-set extension that can be shown and hidden.",
        hint="Profile one variant only: give the plan one experiment and no compare_pairs.",
    )


def find_extension(architecture: str, seen: Collection[str], hidden: Collection[str]) -> tuple[Extension, bool]:
    """The best extension that was hidden, or else the best that was seen; and whether it was shown.

    Only those with instructions of their own, by which samples can prove them. Where the CPU has none of these, or
    nothing is known of its features, it is the best of the architecture, as if shown.
    """
    known = [extension for extension in EXTENSIONS[architecture] if extension.classes]
    for features, shown in ((hidden, False), (seen, True)):
        for extension in known:
            if extension.feature in features:
                return extension, shown
    return known[0], True


def features_to_hide(architecture: str, requested: Iterable[str]) -> frozenset[str]:
    """The features that a list such as `sme,sme2` or `avx512` stands for."""
    groups = HIDDEN_TOGETHER.get(architecture, {})
    wanted: set[str] = set()
    for name in requested:
        if name not in groups:
            known = sorted(groups)
            raise UnknownNameError(
                f"feature group to hide on {architecture}", name, known, hint=f"Known here: {', '.join(known)}."
            )
        wanted.update(groups[name])
    return frozenset(wanted)
