"""The functions that were sampled, each with its name and the most capable instructions seen in it."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.kernels.arm_encodings import BF16, DOT_PRODUCT, FP16, I8MM
from etprof.analysis.kernels.instructions import (
    CLASSES,
    SCALAR,
    UNKNOWN,
    most_capable,
    pack_classes,
    read_uses,
    read_uses_onwards,
)
from etprof.core.samples import CodeLocation, KernelSamples

# What has instructions of SME is a kernel for SME alone: those of SVE are executed there in streaming mode, which needs
# no SVE, and XNNPACK never selects the kernel without SME.
_SME = "SME"
# Kernels call themselves after the instructions they are written in; any one sample may meet a loop counter instead.
# The most capable first. `bf16` and `dot` alone are a data type and, in `sme2_dot`, an instruction of SME2.
_NAMED_CLASSES = (
    (re.compile(r"_(?:neon)?sme2?(?:_|$)"), _SME),
    (re.compile(r"_(?:neon)?sve2?(?:_|$)"), "SVE"),
    (re.compile(r"_(?:neon_?)?i8mm"), I8MM),
    (re.compile(r"_neondot|_dotprod"), DOT_PRODUCT),
    (re.compile(r"_neonbf16|_bf16p.*_neon_mmla"), BF16),
    (re.compile(r"_neon(?:dot)?fp16arith"), FP16),
    (re.compile(r"_neon"), "NEON"),
    (re.compile(r"_(?:avx512)?amx"), "AMX"),
    (re.compile(r"_avx(?:512|256)"), "AVX-512"),
    (re.compile(r"_(?:avx2|avxvnni|fma3)"), "AVX2"),
    (re.compile(r"_(?:avx|f16c)"), "AVX"),
    (re.compile(r"_s?sse"), "SSE"),
    (re.compile(r"_scalar(?:_|$)"), "scalar"),
)
_OURS = "libexecutorch"
_POOL = "libexecutorch_threadpool"


@dataclass(frozen=True)
class ExecutedCode:
    """`function`, `instruction`, `waits` and `is_ours` have one entry per location of the samples.

    `function` leads into `names` and `function_uses`, which has bit n for entry n of `classes`, those of the
    architecture; `instruction` is the place of the most capable one there. `waits` marks code that only passes time:
    system calls, and the thread pool's own library. `is_ours` marks ExecuTorch's libraries, whose kernels hiding a
    feature can change.
    """

    classes: tuple[str, ...]
    names: tuple[str, ...]
    function_uses: NDArray[np.int16]
    function: NDArray[np.int64]
    instruction: NDArray[np.int8]
    waits: NDArray[np.bool_]
    is_ours: NDArray[np.bool_]

    @property
    def function_class(self) -> NDArray[np.int8]:
        """The place in `classes` of the most capable class of each function."""
        return most_capable(self.function_uses)

    def uses_any(self, wanted: int) -> NDArray[np.bool_]:
        """Whether each function belongs to one of these classes, given as bits."""
        sme = 1 << self.classes.index(_SME) if _SME in self.classes else 0
        own = np.where(self.function_uses & sme, sme, self.function_uses)
        found: NDArray[np.bool_] = (own & wanted) != 0
        return found


def describe_code(samples: KernelSamples) -> ExecutedCode:
    locations = samples.locations
    codes = [place.code for place in locations]
    uses = read_uses_onwards(samples.architecture, codes)
    numbers: dict[str, int] = {}
    known = CLASSES[samples.architecture]
    names = [
        _function_name(place, samples.libraries, _class_names(known, own))
        for place, own in zip(locations, uses.tolist(), strict=True)
    ]
    function = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    function_uses = np.array([pack_classes(samples.architecture, classes_of_name(name)) for name in numbers], np.int16)
    np.bitwise_or.at(function_uses, function, uses)
    libraries = [samples.libraries[place.library] if place.library >= 0 else "" for place in locations]
    return ExecutedCode(
        classes=known,
        names=tuple(numbers),
        function_uses=function_uses,
        function=function,
        instruction=most_capable(read_uses(samples.architecture, codes)),
        waits=np.array([p.in_system or _POOL in n for p, n in zip(locations, libraries, strict=True)], np.bool_),
        is_ours=np.array([_OURS in name for name in libraries], np.bool_),
    )


def _class_names(known: tuple[str, ...], uses: int) -> str:
    """The extensions that code uses, or what it is made of where it uses none."""
    own = [name for place, name in enumerate(known) if uses >> place & 1][::-1]
    return " and ".join(own[:1] + [name for name in own[1:] if name not in (UNKNOWN, SCALAR, "NEON")])


def _function_name(place: CodeLocation, libraries: tuple[str, ...], class_names: str) -> str:
    """Code of unknown function, usually hand-written assembly, is kept apart by its instructions."""
    if place.symbol:
        return place.symbol
    library = libraries[place.library] if place.library >= 0 else "no library"
    return f"{library}+{place.function:#x}" if place.function >= 0 else f"{library}, unnamed {class_names} code"


def classes_of_name(name: str) -> tuple[str, ...]:
    """The classes that a kernel's own name promises, the most capable first; a library's name is no promise."""
    if not name.startswith(("kai_", "xnn_")):
        return ()
    promised = tuple(each for pattern, each in _NAMED_CLASSES if pattern.search(name))
    return promised[:1] if _SME in promised else promised


def class_of_name(name: str) -> str:
    """The most capable of them, empty where there is none."""
    return next(iter(classes_of_name(name)), "")
