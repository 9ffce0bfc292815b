"""Runs a .pte with the real runtime to see what it computes."""

import ctypes
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from etprof.core.program import DEFAULT_METHOD


def run_program(pte: Path, tensors: Sequence[Any], method: str = DEFAULT_METHOD) -> list[Any]:
    return load_program(pte, method)(tensors)


def load_program(pte: Path, name: str = DEFAULT_METHOD) -> Callable[[Sequence[Any]], list[Any]]:
    """A method of the program, to be run with tensors as often as wanted; its state is that of a new one."""
    import torch

    _load_quantized_kernels()
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(pte).load_method(name)

    def run(tensors: Sequence[Any]) -> list[Any]:
        outputs = method.execute([tensor.contiguous() for tensor in tensors])
        return [output.clone() if isinstance(output, torch.Tensor) else output for output in outputs]

    return run


@cache
def _load_quantized_kernels() -> None:
    # Importing torch first lets the library find what it is linked against; loading it registers its kernels.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This API is experimental")
        import executorch.extension.pybindings.portable_lib as bindings

    libraries = Path(bindings.__file__).parents[2] / "lib"
    for library in libraries.glob("libexecutorch_kernels_quantized.*"):
        ctypes.CDLL(str(library))
