"""The instruction-set extensions of CPUs: one table for hiding, for evidence that they executed, and for names."""

from collections.abc import Collection, Iterable, Sequence
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

    A CPU that has all `features` has it. `hide_isa` hides it. `classes` are those instruction classes that only kernels
    for it execute.
    """

    slug: str
    label: str
    features: tuple[str, ...]
    hide_isa: tuple[str, ...]
    classes: tuple[str, ...]

    def is_among(self, features: Collection[str]) -> bool:
        return set(self.features) <= set(features)


# The best first: the default for a comparison on a CPU that has it. SME and SME2 have one class: FMOPA and SMOPA belong
# to both.
EXTENSIONS: dict[str, tuple[Extension, ...]] = {
    ARM64: (
        Extension("sme2", "SME2", ("sme2",), ("sme", "sme2"), ("SME",)),
        Extension("sme2", "SME", ("sme",), ("sme", "sme2"), ("SME",)),
        Extension("dot", "i8mm and dot product", ("i8mm", "dot"), ("i8mm", "dot"), ("I8MM", "DotProd")),
        Extension("dot", "dot product", ("dot",), ("dot",), ("DotProd",)),
        Extension("i8mm", "i8mm", ("i8mm",), ("i8mm",), ("I8MM",)),
        Extension("sve", "SVE", ("sve",), ("sve",), ("SVE",)),
        Extension("bf16", "bf16", ("bf16",), ("bf16",), ("BF16",)),
        Extension("fp16", "fp16 arithmetic", ("fp16arith",), ("fp16arith",), ("FP16",)),
    ),
    X86_64: (
        Extension("avx512", "AVX-512 and AMX", ("avx512f", "amx_tile"), ("avx512", "amx"), ("AVX-512", "AMX")),
        Extension("avx512", "AVX-512", ("avx512f",), ("avx512", "amx"), ("AVX-512", "AMX")),
        Extension("avx2", "AVX2", ("avx2",), ("avx2",), ("AVX2", "AVX-512", "AMX")),
        Extension("amx", "AMX", ("amx_tile",), ("amx",), ("AMX",)),
    ),
}
# What every CPU of the architecture executes, where it has no extension that can be hidden.
BASELINES = {
    ARM64: Extension("neon", "NEON", (), (), ("NEON",)),
    X86_64: Extension("sse", "SSE", (), (), ("SSE",)),
}


def best_extension(architecture: str, features: Collection[str]) -> Extension:
    """The extension to compare where the user names none: the best one that the CPU has."""
    for extension in EXTENSIONS.get(architecture, ()):
        if extension.is_among(features):
            return extension
    raise UsageError(
        f"This {architecture} CPU has no instruction-set extension that can be shown and hidden.",
        hint="Profile one variant only: give the plan one experiment and no compare_pairs.",
    )


def find_extension(
    architecture: str, seen: Collection[str], hidden: Collection[str], elsewhere: Iterable[Collection[str]] = ()
) -> tuple[Extension, bool | None]:
    """What the samples of a variant are evidence of, and whether it was shown to the kernels.

    That is what the variant hid; else the best of what other variants of the run hid, `elsewhere`; else the best that
    the CPU has, or its baseline where it has none. Of a CPU whose features are not known it is the best of the
    architecture, and whether that was shown is not known either.
    """
    known = EXTENSIONS[architecture]
    if own := _disjoint(known, hidden):
        return _join(own), False
    compared = [found for others in elsewhere if (found := _disjoint(known, set(others) & set(seen)))]
    if compared:
        return _join(min(compared, key=lambda found: known.index(found[0]))), True
    if not seen:
        return known[0], None
    return next((e for e in known if e.is_among(seen)), BASELINES[architecture]), True


def classes_of_label(label: str) -> frozenset[str]:
    """The instruction classes of the extensions that a label for readers names, such as AVX-512 and AMX."""
    known = [*BASELINES.values(), *(extension for some in EXTENSIONS.values() for extension in some)]
    return frozenset(name for extension in known if extension.label in label for name in extension.classes)


def label_of(features: Collection[str]) -> str:
    """The extensions that these features make up, for readers, or the features themselves where there is none."""
    found = [_disjoint(known, features) for known in EXTENSIONS.values()]
    return next((_join(parts).label for parts in found if parts), ", ".join(sorted(features)))


def _disjoint(known: Sequence[Extension], features: Collection[str]) -> list[Extension]:
    """The best extensions that these features make up, no two of them with an instruction class in common."""
    found: list[Extension] = []
    for extension in known:
        if extension.is_among(features) and not any(set(extension.classes) & set(e.classes) for e in found):
            found.append(extension)
    return found


def _join(parts: Sequence[Extension]) -> Extension:
    """Several that were hidden together are one: every one of their classes is evidence."""
    if len(parts) == 1:
        return parts[0]
    *labels, last = (part.label for part in parts)
    return Extension(
        slug=parts[0].slug,
        label=f"{', '.join(labels)} and {last}",
        features=tuple(name for part in parts for name in part.features),
        hide_isa=tuple(name for part in parts for name in part.hide_isa),
        classes=tuple(name for part in parts for name in part.classes),
    )


def groups_among(architecture: str, features: Collection[str]) -> list[str]:
    """The names that hide at least one of these features."""
    return [name for name, members in HIDDEN_TOGETHER.get(architecture, {}).items() if set(members) & set(features)]


def features_to_hide(architecture: str, requested: Iterable[str]) -> frozenset[str]:
    """The features that a list such as `sme,sme2` or `avx512` stands for."""
    groups = HIDDEN_TOGETHER.get(architecture, {})
    wanted: set[str] = set()
    for name in requested:
        if name not in groups:
            known = sorted(groups)
            hint = f"Known here: {', '.join(known)}."
            # A plan for another kind of CPU, such as the template for a Mac on a PC.
            if of := next((other for other, theirs in HIDDEN_TOGETHER.items() if name in theirs), ""):
                hint = f"{of} CPUs have it. {hint} `etprof profile MODEL.pte` makes the plan that fits this CPU."
            raise UnknownNameError(f"feature group to hide on {architecture}", name, known, hint=hint)
        wanted.update(groups[name])
    return frozenset(wanted)
