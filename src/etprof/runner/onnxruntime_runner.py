"""A runner made of ONNX Runtime's Python bindings: one process, one block, the same flags as the native runner.

Start it as `python -m etprof.runner.onnxruntime_runner --model_path model.onnx --result_path result.json`.
"""

import argparse
import importlib.metadata
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etprof.core.errors import DependencyError, RunnerError, UsageError
from etprof.core.program import DEFAULT_METHOD
from etprof.runner import block_runner
from etprof.runner.block_runner import InputData, InputSlot, InputsWrongError, ModelInvalidError
from etprof.runner.load_log import LoadLog
from etprof.runner.work import OutputData, Work

# By the names of ONNX Runtime; numpy has no type for the others.
_TYPES = {
    "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(bool)": "bool",
    "tensor(int8)": "int8", "tensor(int16)": "int16", "tensor(int32)": "int32", "tensor(int64)": "int64",
    "tensor(uint8)": "uint8", "tensor(uint16)": "uint16", "tensor(uint32)": "uint32", "tensor(uint64)": "uint64",
}  # fmt: skip
_PROVIDERS = ["CPUExecutionProvider"]
_TASKS = Path("/proc/self/task")


def main(argv: Sequence[str] | None = None) -> int:
    return block_runner.run(_OnnxRuntime(), __doc__ or "", argv)


class _OnnxRuntime:
    """The `Engine` of ONNX Runtime."""

    runner = "onnxruntime"
    executorch_version = ""
    # Nobody who uses ONNX Runtime on a device runs it from Python; our native runner has no interpreter either.
    counts_interpreter = False

    def set_up(self, options: argparse.Namespace, result: dict[str, Any]) -> None:
        if options.hide_isa:
            raise UsageError(f"ONNX Runtime cannot hide {options.hide_isa}.", hint="Omit hide_isa.")
        if options.load_options:
            raise UsageError("ONNX Runtime has no load options of XNNPACK.", hint="Omit load_options.")
        if options.method_name not in ("", DEFAULT_METHOD):
            raise ModelInvalidError(f"{options.model_path.name} has no method {options.method_name!r}.")
        _bindings()

    def load(self, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None = None) -> "_Session":
        return _Session(options, with_tracer=with_tracer)

    def load_sequence(self, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None = None) -> Work:
        raise UsageError("ONNX Runtime runs no workload of etprof.", hint="Use a runner of ExecuTorch.")


class _Session:
    """The `Model` of ONNX Runtime."""

    method_name = DEFAULT_METHOD

    def __init__(self, options: argparse.Namespace, *, with_tracer: bool) -> None:
        before = _count_threads()
        self._profiles = Path(tempfile.mkdtemp(prefix="etprof-ort-")) if with_tracer else None
        self._session = _open_session(options, self._profiles)
        after = _count_threads()
        # The thread that calls it computes, too; the pool has the others.
        self.threads = None if before is None or after is None else 1 + after - before
        self._binding = self._session.io_binding()
        self._arrays: list[Any] = []

    @property
    def slots(self) -> list[InputSlot]:
        return [
            InputSlot(
                tuple(size if isinstance(size, int) else None for size in each.shape), np.dtype(_type_of(each)).itemsize
            )
            for each in self._session.get_inputs()
        ]

    def set_inputs(self, inputs: Sequence[InputData]) -> None:
        """Once: what is bound is read where it lies, and inferences leave it as it is."""
        for each, given in zip(self._session.get_inputs(), inputs, strict=True):
            # A value may refer to the array that it was made from.
            self._arrays.append(_build_array(given, _type_of(each)))
            value = _bindings().OrtValue.ortvalue_from_numpy(self._arrays[-1])
            self._binding.bind_ortvalue_input(each.name, value)
        for each in self._session.get_outputs():
            self._binding.bind_output(each.name)

    def run_once(self) -> int:
        start = time.perf_counter_ns()
        try:
            self._session.run_with_iobinding(self._binding)
        except _errors() as error:
            raise RunnerError(f"The model failed while running: {error}") from error
        return time.perf_counter_ns() - start

    def copy_outputs(self) -> list[OutputData]:
        return [_describe_output(value) for value in self._binding.copy_outputs_to_cpu()]

    def write_trace(self, path: Path) -> None:
        shutil.move(self._session.end_profiling(), path)
        if self._profiles:
            self._profiles.rmdir()


def list_libraries() -> list[Path]:
    """The shared libraries of the installed package."""
    try:
        files = importlib.metadata.files("onnxruntime") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    found = (Path(str(file.locate())) for file in files if ".so" in file.suffixes or file.suffix in (".dylib", ".pyd"))
    return sorted(path for path in found if path.is_file())


def _open_session(options: argparse.Namespace, profiles: Path | None) -> Any:
    bindings = _bindings()
    wanted = bindings.SessionOptions()
    wanted.intra_op_num_threads = options.cpu_threads
    wanted.inter_op_num_threads = 1
    wanted.execution_mode = bindings.ExecutionMode.ORT_SEQUENTIAL
    wanted.graph_optimization_level = bindings.GraphOptimizationLevel.ORT_ENABLE_ALL
    if profiles:
        wanted.enable_profiling = True
        wanted.profile_file_prefix = str(profiles / "profile")
    try:
        return bindings.InferenceSession(str(options.model_path), wanted, providers=_PROVIDERS)
    except _errors() as error:
        raise ModelInvalidError(
            f"ONNX Runtime cannot load {options.model_path.name}: {error}",
            hint="Remove it: it is made again from the export beside it.",
        ) from error


def _bindings() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise DependencyError("onnxruntime is not installed.", hint='Run: pip install "etprof[onnxruntime]"') from error
    return onnxruntime


def _errors() -> tuple[type[Exception], ...]:
    """Its exceptions have no base class of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception)]
    return (*own, RuntimeError)


def _type_of(tensor: Any) -> str:
    if tensor.type not in _TYPES:
        raise InputsWrongError(f"The type of {tensor.name}, {tensor.type}, is not supported.")
    return _TYPES[tensor.type]


def _build_array(given: InputData, dtype: str) -> Any:
    if given.data is None:
        return np.ones(given.shape, dtype)
    return np.frombuffer(given.data, np.dtype(dtype).newbyteorder("<")).reshape(given.shape)


def _describe_output(value: Any) -> OutputData:
    if not isinstance(value, np.ndarray):
        return "list", [], None
    return str(value.dtype), list(value.shape), value.tobytes()


def _count_threads() -> int | None:
    """Those of this process; None on systems that do not list them."""
    return len(list(_TASKS.iterdir())) if _TASKS.is_dir() else None


if __name__ == "__main__":
    raise SystemExit(main())
