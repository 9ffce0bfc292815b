"""The functions that were sampled, each with its name and the most capable instructions seen in it."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from etprof.analysis.kernels.instructions import CLASSES, classify_code
from etprof.core.samples import CodeLocation, KernelSamples

# Kernels call themselves after the instructions they are written in; any one sample may meet a loop counter instead.
_NAMED_CLASSES = (
    (re.compile(r"_(?:neon)?sme2?(?:_|$)"), "SME"),
    (re.compile(r"_(?:neon)?sve2?(?:_|$)"), "SVE"),
    (re.compile(r"_neon"), "NEON"),
    (re.compile(r"_(?:avx512)?amx"), "AMX"),
    (re.compile(r"_avx(?:512|256)"), "AVX-512"),
    (re.compile(r"_(?:avx|fma3|f16c)"), "AVX2"),
    (re.compile(r"_s?sse"), "SSE"),
    (re.compile(r"_scalar(?:_|$)"), "scalar"),
)
_OURS = "libexecutorch"
_POOL = "libexecutorch_threadpool"


@dataclass(frozen=True)
class ExecutedCode:
    """`function`, `instruction`, `waits` and `is_ours` have one entry per location of the samples.

    `function` leads into `names` and `function_class`; classes are places in CLASSES of the architecture. `waits`
    marks code that only passes time: system calls, and the thread pool's own library. `is_ours` marks ExecuTorch's
    libraries, whose kernels hiding a feature can change.
    """

    classes: tuple[str, ...]
    names: tuple[str, ...]
    function_class: NDArray[np.int8]
    function: NDArray[np.int64]
    instruction: NDArray[np.int8]
    waits: NDArray[np.bool_]
    is_ours: NDArray[np.bool_]


def describe_code(samples: KernelSamples) -> ExecutedCode:
    locations = samples.locations
    instruction = classify_code(samples.architecture, [place.code for place in locations])
    numbers: dict[str, int] = {}
    known = CLASSES[samples.architecture]
    names = [
        _function_name(place, samples.libraries, known[number])
        for place, number in zip(locations, instruction.tolist(), strict=True)
    ]
    function = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    best = np.zeros(len(numbers), np.int8)
    np.maximum.at(best, function, instruction)
    np.maximum.at(best, np.arange(len(numbers)), [_named_class(name, samples.architecture) for name in numbers])
    libraries = [samples.libraries[place.library] if place.library >= 0 else "" for place in locations]
    return ExecutedCode(
        classes=known,
        names=tuple(numbers),
        function_class=best,
        function=function,
        instruction=instruction,
        waits=np.array([p.in_system or _POOL in n for p, n in zip(locations, libraries, strict=True)], np.bool_),
        is_ours=np.array([_OURS in name for name in libraries], np.bool_),
    )


def _function_name(place: CodeLocation, libraries: tuple[str, ...], instruction_class: str) -> str:
    """Code of unknown function, usually hand-written assembly, is kept apart by its instructions."""
    if place.symbol:
        return place.symbol
    library = libraries[place.library] if place.library >= 0 else "no library"
    return f"{library}+{place.function:#x}" if place.function >= 0 else f"{library}, unnamed {instruction_class} code"


def class_of_name(name: str) -> str:
    """The class that a kernel's own name promises, empty where it promises none; a library's name is no promise."""
    if not name.startswith(("kai_", "xnn_")):
        return ""
    return next((promised for pattern, promised in _NAMED_CLASSES if pattern.search(name)), "")


def _named_class(name: str, architecture: str) -> int:
    known, promised = CLASSES[architecture], class_of_name(name)
    return known.index(promised) if promised in known else 0
