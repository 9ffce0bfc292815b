"""A runner made of the wheel's own Python bindings: one process, one block, the same flags as the native runner.

Start it as `python -m etprof.runner.python_runner --model_path model.pte --result_path result.json`.
"""

import argparse
import ctypes
import gc
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import etprof
from etprof.core.errors import DependencyError, EtprofError, RunnerError, UsageError
from etprof.core.layout import output_name
from etprof.core.program import DEFAULT_METHOD, SCALAR_TYPES
from etprof.core.run import INPUTS_WRONG, MODEL_INVALID
from etprof.runner.cpu_state import read_affinity, read_cpu_state
from etprof.runner.cpu_time import cpu_time_between, read_cpu_time
from etprof.runner.hiding import hide_features

_STEADY_WINDOW = 3
_STEADY_TOLERANCE = 0.02


class ModelInvalidError(RunnerError):
    """The exit codes of these two are the native runner's: no variant could do better."""

    exit_code = MODEL_INVALID


class InputsWrongError(RunnerError):
    exit_code = INPUTS_WRONG


def main(argv: Sequence[str] | None = None) -> int:
    options = _parse(argv)
    result = _empty_result(options.method_name)
    code = 0
    try:
        _run_block(options, result)
    except EtprofError as error:
        result["error"] = error.message
        sys.stderr.write(f"error: {error.message}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        code = error.exit_code
    if options.result_path:
        _write_json(options.result_path, result)
    return code


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python_runner", description=__doc__, allow_abbrev=False)
    parser.add_argument("--model_path", type=Path, required=True, help="the .pte to run")
    parser.add_argument("--method_name", default="", help="the method to run; default: forward, or the only one")
    parser.add_argument("--inputs", default="", help="raw bytes of each input, comma-separated; default: all ones")
    parser.add_argument("--input_shapes", default="", help="such as 1x3x224x224 or scalar, comma-separated")
    parser.add_argument("--num_executions", type=int, default=1, help="timed iterations, without a tracer")
    parser.add_argument("--warmup", type=int, default=0, help="untimed iterations before them, at least")
    parser.add_argument("--warmup_max", type=int, default=0, help="and at most, ending when times are steady")
    parser.add_argument("--traced_executions", type=int, default=0, help="iterations with ETDump, after the timed ones")
    parser.add_argument("--cpu_threads", type=int, default=1, help="threads XNNPACK may use")
    parser.add_argument("--etdump_path", type=Path, help="where the ETDump goes")
    parser.add_argument("--result_path", type=Path, help="where the result (JSON) goes")
    parser.add_argument("--outputs_path", type=Path, help="folder for the raw bytes of each output")
    parser.add_argument("--hide_isa", default="", help="feature groups XNNPACK must not see, comma-separated")
    parser.add_argument("--peaks", type=_refuse_peaks, help="not here: it needs the native runner")
    return parser.parse_args(argv)


def _refuse_peaks(_passes: str) -> None:
    raise argparse.ArgumentTypeError("the Python runner cannot measure what a CPU can do")


def _run_block(options: argparse.Namespace, result: dict[str, Any]) -> None:
    _check_paths(options)
    hide_isa = tuple(n for n in options.hide_isa.split(",") if n)
    view = hide_features(_wheel_library("executorch_threadpool"), hide_isa)
    result.update(features_seen=view.seen, features_hidden=view.hidden, isa_proof=view.proof)
    bindings = _load_bindings()
    bindings._unsafe_reset_threadpool(options.cpu_threads)
    result["threads"] = bindings._threadpool_get_thread_count()
    start = time.perf_counter_ns()
    # The program owns memory that its method uses, so it is held until the end.
    _program, method = _load_method(bindings, options, with_tracer=False)
    result["load_ns"] = time.perf_counter_ns() - start
    result["method_name"] = method.method_meta().name()
    inputs = _read_inputs(method, options)
    first_outputs: list[list[Any]] = []

    def run_once() -> int:
        taken = _time_once(method, inputs)
        # Those of later runs depend on how many there were where a model keeps state.
        if not first_outputs:
            first_outputs.append(method.get_outputs())
        return taken

    gc.disable()
    result["warmup_ns"], result["warmup_steady"] = warm_up(run_once, options.warmup, options.warmup_max)
    _run_timed(run_once, options.num_executions, result)
    if options.outputs_path:
        if not first_outputs:
            run_once()
        result["outputs"] = _write_outputs(first_outputs[0], options.outputs_path)
    # Before the tracer loads the model a second time.
    result["peak_bytes"] = _peak_bytes()
    if options.traced_executions and options.etdump_path:
        result["traced_ns"] = _trace(bindings, options, inputs)


def _run_timed(run_once: Callable[[], int], count: int, result: dict[str, Any]) -> None:
    """What is read around the iterations is outside of every clock, and read when the machine is warm, not idle."""
    cores = result["cpu_affinity"]
    result["cpu_before"] = asdict(read_cpu_state(cores))
    start = read_cpu_time()
    result["latency_ns"] = [run_once() for _ in range(count)]
    end = read_cpu_time()
    result["cpu_after"] = asdict(read_cpu_state(cores))
    if count:
        result["cpu_time"] = asdict(cpu_time_between(start, end))


def _check_paths(options: argparse.Namespace) -> None:
    for path in (options.model_path, *(Path(p) for p in options.inputs.split(",") if p)):
        if not path.is_file():
            raise UsageError(f"There is no file {path}.")
    if options.etdump_path:
        options.etdump_path.unlink(missing_ok=True)


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


def _read_inputs(method: Any, options: argparse.Namespace) -> list[Any]:
    meta = method.method_meta()
    paths = [Path(p) for p in options.inputs.split(",") if p]
    shapes = [_parse_shape(text) for text in options.input_shapes.split(",") if text]
    for flag, given in (("--inputs", paths), ("--input_shapes", shapes)):
        if given and len(given) != meta.num_inputs():
            raise InputsWrongError(f"The model takes {meta.num_inputs()} inputs, {flag} names {len(given)}.")
    infos = [meta.input_tensor_meta(index) for index in range(meta.num_inputs())]
    return [
        _read_input(index, info, paths[index] if paths else None, shapes[index] if shapes else tuple(info.sizes()))
        for index, info in enumerate(infos)
    ]


def _parse_shape(text: str) -> tuple[int, ...]:
    if text != "scalar" and not re.fullmatch(r"\d+(x\d+)*", text):
        raise UsageError(f"--input_shapes takes shapes such as 1x3x224x224 or scalar, not {text!r}.")
    return () if text == "scalar" else tuple(int(size) for size in text.split("x"))


def _read_input(index: int, info: Any, path: Path | None, shape: tuple[int, ...]) -> Any:
    import torch

    largest = tuple(info.sizes())
    if len(shape) != len(largest) or any(size > most for size, most in zip(shape, largest, strict=True)):
        raise InputsWrongError(f"Input {index} cannot be {list(shape)}: the model takes at most {list(largest)}.")
    dtype = _torch_dtype(info.dtype())
    if path is None:
        return torch.ones(shape, dtype=dtype)
    data = bytearray(path.read_bytes())
    needed = math.prod(shape) * dtype.itemsize
    if len(data) != needed:
        raise InputsWrongError(
            f"{path.name} holds {len(data)} bytes; input {index} of the model is {list(shape)}, which is {needed}."
        )
    return torch.frombuffer(data, dtype=dtype).reshape(shape) if data else torch.empty(shape, dtype=dtype)


def _torch_dtype(scalar_type: int) -> Any:
    import torch

    if scalar_type not in SCALAR_TYPES:
        raise InputsWrongError(f"Inputs of ExecuTorch's scalar type {scalar_type} are not supported.")
    return getattr(torch, SCALAR_TYPES[scalar_type][0])


def _time_once(method: Any, inputs: list[Any]) -> int:
    # Planned memory may be reused for intermediate values, so inputs are set before each run, unmeasured.
    method.set_inputs(inputs)
    start = time.perf_counter_ns()
    try:
        method.execute()
    except RuntimeError as error:
        raise RunnerError(f"The model failed while running: {error}") from error
    return time.perf_counter_ns() - start


def warm_up(run_once: Callable[[], int], minimum: int, maximum: int) -> tuple[list[int], bool | None]:
    """Runs until two consecutive windows have the same median; None where no maximum was given."""
    times = [run_once() for _ in range(minimum)]
    if maximum <= minimum:
        return times, None
    while not is_steady(times):
        if len(times) >= maximum:
            return times, False
        times.append(run_once())
    return times, True


def is_steady(times_ns: Sequence[int]) -> bool:
    if len(times_ns) < 2 * _STEADY_WINDOW:
        return False
    last = statistics.median(times_ns[-_STEADY_WINDOW:])
    before = statistics.median(times_ns[-2 * _STEADY_WINDOW : -_STEADY_WINDOW])
    return abs(last - before) <= _STEADY_TOLERANCE * before


def _trace(bindings: Any, options: argparse.Namespace, inputs: list[Any]) -> list[int]:
    program, method = _load_method(bindings, options, with_tracer=True)
    times = [_time_once(method, inputs) for _ in range(options.traced_executions)]
    program.write_etdump_result_to_file(str(options.etdump_path))
    return times


def _write_outputs(values: list[Any], folder: Path) -> list[dict[str, Any]]:
    folder.mkdir(parents=True, exist_ok=True)
    return [_write_output(value, folder / output_name(index)) for index, value in enumerate(values)]


def _write_output(value: Any, path: Path) -> dict[str, Any]:
    dtype, shape, data = _describe_output(value)
    if data is None:
        return {"dtype": dtype, "shape": shape, "sha256": "", "file": ""}
    path.write_bytes(data)
    return {"dtype": dtype, "shape": shape, "sha256": hashlib.sha256(data).hexdigest(), "file": path.name}


def _describe_output(value: Any) -> tuple[str, list[int], bytes | None]:
    """Type, shape and bytes in row-major order; a number is a tensor without dimensions, None has no bytes."""
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


def _peak_bytes() -> int:
    """The most memory this program itself held: getrusage would carry a larger parent's peak across exec on Linux."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _empty_result(method_name: str) -> dict[str, Any]:
    """Every key of the contract, with what is not known yet left empty."""
    return {
        "schema_version": 2, "runner": "python", "runner_version": etprof.__version__,
        "executorch_version": _executorch_version(), "error": "", "method_name": method_name, "threads": None,
        "cpu_affinity": read_affinity(), "features_seen": [], "features_hidden": [], "isa_proof": "", "load_ns": None,
        "warmup_ns": [], "warmup_steady": None, "latency_ns": [], "traced_ns": [], "peak_bytes": None,
        "cpu_before": None, "cpu_after": None, "cpu_time": None, "outputs": [],
    }  # fmt: skip


def _executorch_version() -> str:
    try:
        return importlib.metadata.version("executorch")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _write_json(path: Path, result: dict[str, Any]) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(result), encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())
