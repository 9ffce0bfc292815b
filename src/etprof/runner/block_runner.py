"""One block of measurements in a Python process, whatever runtime executes the model: flags, clocks and the result."""

import argparse
import gc
import hashlib
import json
import math
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import etprof
from etprof.core.errors import EtprofError, RunnerError, UsageError
from etprof.core.layout import output_name
from etprof.core.run import INPUTS_WRONG, MODEL_INVALID
from etprof.runner.cpu_state import read_affinity, read_cpu_state
from etprof.runner.cpu_time import cpu_time_between, read_cpu_time

_STEADY_WINDOW = 3
_STEADY_TOLERANCE = 0.02


class ModelInvalidError(RunnerError):
    """The exit codes of these two are the native runner's: no variant could do better."""

    exit_code = MODEL_INVALID


class InputsWrongError(RunnerError):
    exit_code = INPUTS_WRONG


@dataclass(frozen=True)
class InputSlot:
    """What a model takes as one of its inputs; a size is the largest it may have, None where any will do."""

    sizes: tuple[int | None, ...]
    item_bytes: int


@dataclass(frozen=True)
class InputData:
    """`data` are the bytes of an input in row-major order; None stands for ones."""

    shape: tuple[int, ...]
    data: bytearray | None


# Type, shape and bytes in row-major order of an output; None where it has none.
OutputData = tuple[str, list[int], bytes | None]


class Model(Protocol):
    """A model that a runtime has loaded."""

    @property
    def method_name(self) -> str: ...

    @property
    def threads(self) -> int | None:
        """How many compute; None where the runtime does not tell."""

    @property
    def slots(self) -> Sequence[InputSlot]: ...

    def set_inputs(self, inputs: Sequence[InputData]) -> None: ...

    def run_once(self) -> int:
        """One inference; only its execution counts, in nanoseconds."""

    def copy_outputs(self) -> list[OutputData]:
        """Those of the latest inference."""

    def write_trace(self, path: Path) -> None:
        """Of a model that was loaded with a tracer: what it recorded since."""


class Engine(Protocol):
    """A runtime, as the runner of a block uses it."""

    @property
    def runner(self) -> str:
        """Its name in results."""

    @property
    def executorch_version(self) -> str: ...

    @property
    def counts_interpreter(self) -> bool:
        """Whether peak memory includes what Python itself holds before the runtime is there."""

    def set_up(self, options: argparse.Namespace, result: dict[str, Any]) -> None:
        """Before the clock of loading starts: what a process does once."""

    def load(self, options: argparse.Namespace, *, with_tracer: bool) -> Model: ...


def run(engine: Engine, description: str, argv: Sequence[str] | None = None) -> int:
    """Measures one block as its flags say, writes the result and gives the exit code."""
    options = _parse(engine.runner, description, argv)
    result = _empty_result(engine, options.method_name)
    code = 0
    try:
        _run_block(engine, options, result)
    except EtprofError as error:
        result["error"] = error.message
        sys.stderr.write(f"error: {error.message}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
        code = error.exit_code
    if options.result_path:
        _write_json(options.result_path, result)
    return code


def _parse(runner: str, description: str, argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"{runner}_runner", description=description, allow_abbrev=False)
    parser.add_argument("--model_path", type=Path, required=True, help="the program to run")
    parser.add_argument("--method_name", default="", help="the method to run; default: forward, or the only one")
    parser.add_argument("--inputs", default="", help="raw bytes of each input, comma-separated; default: all ones")
    parser.add_argument("--input_shapes", default="", help="such as 1x3x224x224 or scalar, comma-separated")
    parser.add_argument("--num_executions", type=int, default=1, help="timed iterations, without a tracer")
    parser.add_argument("--warmup", type=int, default=0, help="untimed iterations before them, at least")
    parser.add_argument("--warmup_max", type=int, default=0, help="and at most, ending when times are steady")
    parser.add_argument("--traced_executions", type=int, default=0, help="iterations with a tracer, after the others")
    parser.add_argument("--cpu_threads", type=int, default=1, help="threads that compute")
    parser.add_argument("--etdump_path", type=Path, help="where the trace goes")
    parser.add_argument("--result_path", type=Path, help="where the result (JSON) goes")
    parser.add_argument("--outputs_path", type=Path, help="folder for the raw bytes of each output")
    parser.add_argument("--hide_isa", default="", help="feature groups XNNPACK must not see, comma-separated")
    parser.add_argument("--peaks", type=_refuse_peaks, help="not here: it needs the native runner")
    return parser.parse_args(argv)


def _refuse_peaks(_passes: str) -> None:
    raise argparse.ArgumentTypeError("the Python runner cannot measure what a CPU can do")


def _run_block(engine: Engine, options: argparse.Namespace, result: dict[str, Any]) -> None:
    _check_paths(options)
    own_bytes = 0 if engine.counts_interpreter else _peak_bytes()
    engine.set_up(options, result)
    start = time.perf_counter_ns()
    model = engine.load(options, with_tracer=False)
    result["load_ns"] = time.perf_counter_ns() - start
    result["threads"], result["method_name"] = model.threads, model.method_name
    inputs = read_inputs(model.slots, options)
    model.set_inputs(inputs)
    first_outputs: list[list[OutputData]] = []

    def run_once() -> int:
        taken = model.run_once()
        # Those of later runs depend on how many there were where a model keeps state.
        if not first_outputs:
            first_outputs.append(model.copy_outputs())
        return taken

    gc.disable()
    result["warmup_ns"], result["warmup_steady"] = warm_up(run_once, options.warmup, options.warmup_max)
    _run_timed(run_once, options.num_executions, result)
    if options.outputs_path:
        if not first_outputs:
            run_once()
        result["outputs"] = _write_outputs(first_outputs[0], options.outputs_path)
    # Before the tracer loads the model a second time.
    result["peak_bytes"] = _peak_bytes() - own_bytes
    if options.traced_executions and options.etdump_path:
        traced = engine.load(options, with_tracer=True)
        traced.set_inputs(inputs)
        result["traced_ns"] = [traced.run_once() for _ in range(options.traced_executions)]
        traced.write_trace(options.etdump_path)


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


def read_inputs(slots: Sequence[InputSlot], options: argparse.Namespace) -> list[InputData]:
    """What the flags name for each input; without shapes the largest that the model allows."""
    paths = [Path(p) for p in options.inputs.split(",") if p]
    shapes = [_parse_shape(text) for text in options.input_shapes.split(",") if text]
    for flag, given in (("--inputs", paths), ("--input_shapes", shapes)):
        if given and len(given) != len(slots):
            raise InputsWrongError(f"The model takes {len(slots)} inputs, {flag} names {len(given)}.")
    return [
        _read_input(index, slot, paths[index] if paths else None, shapes[index] if shapes else None)
        for index, slot in enumerate(slots)
    ]


def _parse_shape(text: str) -> tuple[int, ...]:
    if text != "scalar" and not re.fullmatch(r"\d+(x\d+)*", text):
        raise UsageError(f"--input_shapes takes shapes such as 1x3x224x224 or scalar, not {text!r}.")
    return () if text == "scalar" else tuple(int(size) for size in text.split("x"))


def _read_input(index: int, slot: InputSlot, path: Path | None, asked: tuple[int, ...] | None) -> InputData:
    largest = [size for size in slot.sizes if size is not None]
    if asked is None and len(largest) < len(slot.sizes):
        raise InputsWrongError(f"The shape of input {index} is open: name it with --input_shapes.")
    shape = tuple(largest) if asked is None else asked
    fits = len(shape) == len(slot.sizes)
    if not fits or any(most is not None and size > most for size, most in zip(shape, slot.sizes, strict=True)):
        most = ["any" if size is None else size for size in slot.sizes]
        raise InputsWrongError(f"Input {index} cannot be {list(shape)}: the model takes at most {most}.")
    if path is None:
        return InputData(shape, None)
    data = bytearray(path.read_bytes())
    needed = math.prod(shape) * slot.item_bytes
    if len(data) != needed:
        raise InputsWrongError(
            f"{path.name} holds {len(data)} bytes; input {index} of the model is {list(shape)}, which is {needed}."
        )
    return InputData(shape, data)


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


def _write_outputs(values: list[OutputData], folder: Path) -> list[dict[str, Any]]:
    folder.mkdir(parents=True, exist_ok=True)
    return [_write_output(*value, folder / output_name(index)) for index, value in enumerate(values)]


def _write_output(dtype: str, shape: list[int], data: bytes | None, path: Path) -> dict[str, Any]:
    if data is None:
        return {"dtype": dtype, "shape": shape, "sha256": "", "file": ""}
    path.write_bytes(data)
    return {"dtype": dtype, "shape": shape, "sha256": hashlib.sha256(data).hexdigest(), "file": path.name}


def _peak_bytes() -> int:
    """The most memory this program itself held: getrusage would carry a larger parent's peak across exec on Linux."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _empty_result(engine: Engine, method_name: str) -> dict[str, Any]:
    """Every key of the contract, with what is not known yet left empty."""
    return {
        "schema_version": 2, "runner": engine.runner, "runner_version": etprof.__version__,
        "executorch_version": engine.executorch_version, "error": "", "method_name": method_name, "threads": None,
        "cpu_affinity": read_affinity(), "features_seen": [], "features_hidden": [], "isa_proof": "", "load_ns": None,
        "warmup_ns": [], "warmup_steady": None, "latency_ns": [], "traced_ns": [], "peak_bytes": None,
        "cpu_before": None, "cpu_after": None, "cpu_time": None, "outputs": [],
    }  # fmt: skip


def _write_json(path: Path, result: dict[str, Any]) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(result), encoding="utf-8")
    temporary.replace(path)
