"""A runner made of the wheel's own Python bindings: one process, one block, the same flags as the native runner.

Start it as `python -m etprof.runner.python_runner --model_path model.pte --result_path result.json`.
"""

import argparse
import ctypes
import importlib.metadata
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etprof.core.errors import DependencyError, RunnerError
from etprof.core.program import DEFAULT_METHOD, SCALAR_TYPES
from etprof.runner import block_runner
from etprof.runner.block_runner import InputData, InputSlot, InputsWrongError, ModelInvalidError, OutputData
from etprof.runner.hiding import hide_features


def main(argv: Sequence[str] | None = None) -> int:
    return block_runner.run(_ExecuTorch(), __doc__ or "", argv)


class _ExecuTorch:
    """The `Engine` of ExecuTorch."""

    runner = "python"
    counts_interpreter = True
    _bindings: Any = None

    @property
    def executorch_version(self) -> str:
        try:
            return importlib.metadata.version("executorch")
        except importlib.metadata.PackageNotFoundError:
            return ""

    def set_up(self, options: argparse.Namespace, result: dict[str, Any]) -> None:
        hide_isa = tuple(n for n in options.hide_isa.split(",") if n)
        view = hide_features(_wheel_library("executorch_threadpool"), hide_isa)
        result.update(features_seen=view.seen, features_hidden=view.hidden, isa_proof=view.proof)
        self._bindings = _load_bindings()
        self._bindings._unsafe_reset_threadpool(options.cpu_threads)

    def load(self, options: argparse.Namespace, *, with_tracer: bool) -> "_Method":
        return _Method(self._bindings, *_load_method(self._bindings, options, with_tracer=with_tracer))


class _Method:
    """The `Model` of ExecuTorch."""

    def __init__(self, bindings: Any, program: Any, method: Any) -> None:
        # The program owns memory that its method uses, so it is held until the end.
        self._bindings, self._program, self._method = bindings, program, method
        self._inputs: list[Any] = []

    @property
    def method_name(self) -> str:
        name: str = self._method.method_meta().name()
        return name

    @property
    def threads(self) -> int:
        count: int = self._bindings._threadpool_get_thread_count()
        return count

    @property
    def slots(self) -> list[InputSlot]:
        return [InputSlot(tuple(info.sizes()), _torch_dtype(info.dtype()).itemsize) for info in self._infos()]

    def set_inputs(self, inputs: Sequence[InputData]) -> None:
        pairs = zip(self._infos(), inputs, strict=True)
        self._inputs = [_build_tensor(given, _torch_dtype(info.dtype())) for info, given in pairs]

    def run_once(self) -> int:
        # Planned memory may be reused for intermediate values, so inputs are set before each run, unmeasured.
        self._method.set_inputs(self._inputs)
        start = time.perf_counter_ns()
        try:
            self._method.execute()
        except RuntimeError as error:
            raise RunnerError(f"The model failed while running: {error}") from error
        return time.perf_counter_ns() - start

    def copy_outputs(self) -> list[OutputData]:
        return [_describe_output(value) for value in self._method.get_outputs()]

    def write_trace(self, path: Path) -> None:
        self._program.write_etdump_result_to_file(str(path))

    def _infos(self) -> list[Any]:
        meta = self._method.method_meta()
        return [meta.input_tensor_meta(index) for index in range(meta.num_inputs())]


def list_libraries() -> list[Path]:
    """The shared libraries of the wheel that this runner loads or that those need."""
    folder = _wheel_library("executorch_threadpool").parent
    return sorted(path for path in folder.iterdir() if path.suffix in (".so", ".dylib"))


def _wheel_library(name: str) -> Path:
    spec = importlib.util.find_spec("executorch")
    if spec is None or not spec.submodule_search_locations:
        raise DependencyError("executorch is not installed.", hint="Run `make quickstart`, or `etprof doctor`.")
    suffix = "dylib" if sys.platform == "darwin" else "so"
    for folder in spec.submodule_search_locations:
        path = Path(folder) / "lib" / f"lib{name}.{suffix}"
        if path.exists():
            return path
    raise DependencyError(
        f"The installed executorch has no lib{name}.{suffix}.", hint="`etprof doctor` shows which version is needed."
    )


def _load_bindings() -> Any:
    """The wheel's extension module by itself: executorch.runtime imports the whole export stack, three seconds more."""
    import torch  # noqa: F401  the extension finds torch's libraries through it
    from executorch.extension.pybindings import _C

    ctypes.CDLL(str(_wheel_library("executorch_kernels_quantized")), mode=ctypes.RTLD_GLOBAL)
    return _C


def _load_method(bindings: Any, options: argparse.Namespace, *, with_tracer: bool) -> tuple[Any, Any]:
    try:
        program = bindings._load_program(str(options.model_path), enable_etdump=with_tracer)
        names = [program.get_method_name(i) for i in range(program.num_methods())]
        wanted = options.method_name or (names[0] if len(names) == 1 else DEFAULT_METHOD)
        if wanted not in names:
            raise ModelInvalidError(f"{options.model_path.name} has no method {wanted!r}, only {', '.join(names)}.")
        return program, program.load_method(wanted)
    except RuntimeError as error:
        raise ModelInvalidError(
            f"ExecuTorch cannot load {options.model_path.name}: {error}",
            hint="Export it again: the file is damaged or was made for another version.",
        ) from error


def _build_tensor(given: InputData, dtype: Any) -> Any:
    import torch

    if given.data is None:
        return torch.ones(given.shape, dtype=dtype)
    if not given.data:
        return torch.empty(given.shape, dtype=dtype)
    return torch.frombuffer(given.data, dtype=dtype).reshape(given.shape)


def _torch_dtype(scalar_type: int) -> Any:
    import torch

    if scalar_type not in SCALAR_TYPES:
        raise InputsWrongError(f"Inputs of ExecuTorch's scalar type {scalar_type} are not supported.")
    return getattr(torch, SCALAR_TYPES[scalar_type][0])


def _describe_output(value: Any) -> OutputData:
    """A number is a tensor without dimensions, None has no bytes."""
    import torch

    if isinstance(value, str):
        return "string", [], value.encode()
    if value is None or isinstance(value, (list, tuple)):
        return "none" if value is None else "list", [], None
    if not isinstance(value, torch.Tensor):
        value = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    flat = value.contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return str(value.dtype).removeprefix("torch."), list(value.shape), data


if __name__ == "__main__":
    raise SystemExit(main())
