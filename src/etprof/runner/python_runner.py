"""A runner made of the wheel's own Python bindings: one process, one block, the same flags as the native runner.

Start it as `python -m etprof.runner.python_runner --model_path model.pte --result_path result.json`.
"""

import argparse
import ctypes
import importlib.metadata
import importlib.util
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etprof.core.errors import DependencyError, RunnerError
from etprof.core.memory import PROGRAM
from etprof.core.program import DEFAULT_METHOD, SCALAR_TYPES
from etprof.runner import block_runner
from etprof.runner.block_runner import InputData, InputSlot, InputsWrongError, ModelInvalidError
from etprof.runner.hiding import hide_features
from etprof.runner.load_log import LoadLog
from etprof.runner.load_options import parse_load_options, set_load_options
from etprof.runner.operators import find_custom_library
from etprof.runner.planned_workload import PlannedInput, parse_workload
from etprof.runner.sequence import SequenceWork
from etprof.runner.work import OutputData


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
        load_options = parse_load_options(options.load_options)
        view = hide_features(_wheel_library("executorch_threadpool"), hide_isa)
        result.update(features_seen=view.seen, features_hidden=view.hidden, isa_proof=view.proof)
        self._bindings = _load_bindings()
        set_load_options(load_options, _wheel_library("executorch"))
        self._bindings._unsafe_reset_threadpool(options.cpu_threads)

    def load(self, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None = None) -> "_Method":
        return _Method(self._bindings, *_load_method(self._bindings, options, with_tracer=with_tracer, log=log))

    def load_sequence(
        self, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None = None
    ) -> SequenceWork:
        workload = parse_workload(options.workload.read_bytes(), options.workload.name)
        names = list(dict.fromkeys(phase.method for phase in workload.phases))
        # Methods of one program have their memory in common here, and only one program writes to a trace.
        is_one_program = with_tracer or bool(workload.shared)
        if with_tracer and len(names) > 1 and workload.has_state and not workload.shared:
            raise RunnerError(
                "The Python runner cannot trace several methods that each keep state of their own.",
                hint="Use the native runner.",
            )

        def load(first_log: LoadLog | None) -> dict[str, _Method]:
            programs: list[Any] = []
            methods: dict[str, _Method] = {}
            for name in names:
                if not programs or not is_one_program:
                    programs.append(_load_program(self._bindings, options, with_tracer=with_tracer))
                if first_log and not methods:
                    first_log.end(PROGRAM)
                methods[name] = _Method(self._bindings, programs[-1], _find_method(programs[-1], options, name))
            return methods

        return SequenceWork(workload, load, log)


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

    def view_inputs(self, inputs: Sequence[PlannedInput], data: bytes | bytearray) -> list[Any]:
        infos = self._infos()
        if len(infos) != len(inputs):
            raise InputsWrongError(f"{self.method_name} takes {len(infos)} inputs, the workload has {len(inputs)}.")
        return [
            _view_slices(given, _torch_dtype(info.dtype()), data) for info, given in zip(infos, inputs, strict=True)
        ]

    def take_inputs(self, views: Sequence[Any], index: int) -> None:
        self._inputs = [view[index % len(view)] for view in views]

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


def _load_method(
    bindings: Any, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None
) -> tuple[Any, Any]:
    program = _load_program(bindings, options, with_tracer=with_tracer)
    if log:
        log.end(PROGRAM)
    return program, _find_method(program, options, options.method_name)


def _load_program(bindings: Any, options: argparse.Namespace, *, with_tracer: bool) -> Any:
    try:
        return bindings._load_program(str(options.model_path), enable_etdump=with_tracer)
    except RuntimeError as error:
        raise _refuse(options, error) from error


def _find_method(program: Any, options: argparse.Namespace, asked: str) -> Any:
    try:
        names = [program.get_method_name(i) for i in range(program.num_methods())]
        wanted = asked or (names[0] if len(names) == 1 else DEFAULT_METHOD)
        if wanted not in names:
            raise ModelInvalidError(f"{options.model_path.name} has no method {wanted!r}, only {', '.join(names)}.")
        return _load_with_operators(program, wanted)
    except RuntimeError as error:
        raise _refuse(options, error) from error


def _refuse(options: argparse.Namespace, error: RuntimeError) -> ModelInvalidError:
    return ModelInvalidError(
        f"ExecuTorch cannot load {options.model_path.name}: {error}",
        hint="Export it again: the file is damaged or was made for another version.",
    )


def _load_with_operators(program: Any, name: str) -> Any:
    """Operators for language models are in a library of their own, which is loaded where a method needs it."""
    import torch

    custom = find_custom_library(_wheel_library("executorch").parents[1])
    try:
        return program.load_method(name)
    except RuntimeError:
        if custom is None:
            raise
    torch.ops.load_library(str(custom))
    return program.load_method(name)


def _view_slices(given: PlannedInput, dtype: Any, data: bytes | bytearray) -> Any:
    """All tensors that the steps take in turn, as one with a dimension more."""
    import torch

    shape = given.slices, *given.shape
    count = math.prod(shape)
    if given.offset + count * dtype.itemsize > len(data):
        raise InputsWrongError(f"The workload holds too few bytes for an input of {list(given.shape)}.")
    if not count:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(data, dtype=dtype, count=count, offset=given.offset).reshape(shape)


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
