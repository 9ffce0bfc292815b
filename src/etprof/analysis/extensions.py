"""The instruction-set extension an arm is about: the best one its CPU has, shown or hidden."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Extension:
    """`classes` are those of instructions.CLASSES that only kernels for the extension execute."""

    label: str
    feature: str
    classes: tuple[str, ...]


# The best first.
EXTENSIONS = {
    "arm64": (
        Extension("SME2", "sme2", ("SME",)),
        Extension("SME", "sme", ("SME",)),
    ),
    "x86_64": (
        Extension("AVX-512 and AMX", "amx_tile", ("AVX-512", "AMX")),
        Extension("AVX-512", "avx512f", ("AVX-512", "AMX")),
        Extension("AVX2", "avx2", ("AVX2", "AVX-512", "AMX")),
    ),
}


def find_extension(architecture: str, seen: Collection[str], hidden: Collection[str]) -> tuple[Extension, bool]:
    """The best extension that was hidden, or else the best that was seen; and whether it was shown.

    Where nothing is known of the CPU's features it is the best of the architecture, as if shown.
    """
    known = EXTENSIONS[architecture]
    for features, shown in ((hidden, False), (seen, True)):
        for extension in known:
            if extension.feature in features:
                return extension, shown
    return known[0], True
