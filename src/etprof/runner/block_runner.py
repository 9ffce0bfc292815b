"""One block of measurements in a Python process, whatever runtime executes the model: flags, clocks and the result."""

import argparse
import gc
import hashlib
import json
import math
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import etprof
from etprof.core.errors import EtprofError, RunnerError, UsageError
from etprof.core.layout import output_name
from etprof.core.memory import LIBRARIES, METHOD, PROCESS, PROGRAM, STEADY
from etprof.core.run import INPUTS_WRONG, MODEL_INVALID
from etprof.runner.cpu_state import read_affinity, read_cpu_state
from etprof.runner.cpu_time import cpu_time_between, read_cpu_time
from etprof.runner.load_log import LoadLog, prepare_page_cache, read_peak_bytes
from etprof.runner.work import MethodWork, OutputData, Runnable, Work

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


class Model(Runnable, Protocol):
    """A model that a runtime has loaded."""

    @property
    def slots(self) -> Sequence[InputSlot]: ...

    def set_inputs(self, inputs: Sequence[InputData]) -> None: ...


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

    def load(self, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None = None) -> Model:
        """The log is told when the program is there and its method is not yet, where those are two things."""

    def load_sequence(self, options: argparse.Namespace, *, with_tracer: bool, log: LoadLog | None = None) -> Work:
        """The methods of the workload that the flags name."""


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
    parser.add_argument("--workload", type=Path, help="phases and their inputs, as etprof writes them")
    parser.add_argument("--steps_path", type=Path, help="where the times of a workload's steps go")
    parser.add_argument("--num_executions", type=int, default=1, help="timed iterations, without a tracer")
    parser.add_argument("--warmup", type=int, default=0, help="untimed iterations before them, at least")
    parser.add_argument("--warmup_max", type=int, default=0, help="and at most, ending when times are steady")
    parser.add_argument("--traced_executions", type=int, default=0, help="iterations with a tracer, after the others")
    parser.add_argument("--cpu_threads", type=int, default=1, help="threads that compute")
    parser.add_argument("--etdump_path", type=Path, help="where the trace goes")
    parser.add_argument("--result_path", type=Path, help="where the result (JSON) goes")
    parser.add_argument("--outputs_path", type=Path, help="folder for the raw bytes of each output")
    parser.add_argument("--hide_isa", default="", help="feature groups XNNPACK must not see, comma-separated")
    parser.add_argument("--load_options", default="", help="options of XNNPACK, such as weight_cache_enabled=true")
    parser.add_argument("--page_cache", default="", choices=("in", "out"), help="where the model is when it is loaded")
    parser.add_argument("--exec_clock", type=int, default=0, help="not here: the start of Python is no model's")
    parser.add_argument("--peaks", type=_refuse_peaks, help="not here: it needs the native runner")
    return parser.parse_args(argv)


def _refuse_peaks(_passes: str) -> None:
    raise argparse.ArgumentTypeError("the Python runner cannot measure what a CPU can do")


def _run_block(engine: Engine, options: argparse.Namespace, result: dict[str, Any]) -> None:
    _check_paths(options)
    own_bytes = 0 if engine.counts_interpreter else read_peak_bytes()
    # What belongs to the interpreter and what to the runtime, no system tells.
    log = LoadLog(options.model_path, with_memory=engine.counts_interpreter)
    log.note(PROCESS)
    engine.set_up(options, result)
    log.end(LIBRARIES)
    result["cached_share"] = prepare_page_cache(options.model_path, options.page_cache)
    log.begin()
    work = _load_work(engine, options, log)
    result["load_ns"] = log.duration_ns(PROGRAM, METHOD)
    result["threads"], result["method_name"] = work.threads, work.method_name

    gc.disable()
    result["warmup_ns"], result["warmup_steady"] = warm_up(work.run, options.warmup, options.warmup_max)
    work.prepare(options.num_executions)
    _run_timed(work.run_timed, options.num_executions, result)
    log.note(STEADY)
    result["stages"] = log.as_json()
    if options.outputs_path:
        if work.outputs is None:
            work.run()
        result["outputs"] = _write_outputs(work.outputs or [], options.outputs_path)
    if options.steps_path:
        work.write_steps(options.steps_path)
    result["sequences_agree"] = work.sequences_agree
    # Before the tracer loads the model a second time.
    result["peak_bytes"] = log.peak_bytes - own_bytes
    if options.traced_executions and options.etdump_path:
        traced = _load_work(engine, options, None)
        result["traced_ns"] = [traced.run_traced() for _ in range(options.traced_executions)]
        traced.write_trace(options.etdump_path)


def _load_work(engine: Engine, options: argparse.Namespace, log: LoadLog | None) -> Work:
    """What is timed has a log, what is traced has none."""
    if options.workload:
        work = engine.load_sequence(options, with_tracer=log is None, log=log)
        if log:
            log.end(METHOD)
        return work
    model = engine.load(options, with_tracer=log is None, log=log)
    if log:
        log.end(METHOD)
    model.set_inputs(read_inputs(model.slots, options))
    return MethodWork(model, log)


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
    given = [Path(p) for p in options.inputs.split(",") if p] + ([options.workload] if options.workload else [])
    for path in (options.model_path, *given):
        if not path.is_file():
            raise UsageError(f"There is no file {path}.")
    for path in (options.etdump_path, options.steps_path):
        if path:
            path.unlink(missing_ok=True)


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


def _empty_result(engine: Engine, method_name: str) -> dict[str, Any]:
    """Every key of the contract, with what is not known yet left empty."""
    return {
        "schema_version": 2, "runner": engine.runner, "runner_version": etprof.__version__,
        "executorch_version": engine.executorch_version, "error": "", "method_name": method_name, "threads": None,
        "cpu_affinity": read_affinity(), "features_seen": [], "features_hidden": [], "isa_proof": "", "load_ns": None,
        "warmup_ns": [], "warmup_steady": None, "latency_ns": [], "traced_ns": [], "peak_bytes": None,
        "stages": [], "planned_bytes": None, "cached_share": None,
        "cpu_before": None, "cpu_after": None, "cpu_time": None, "outputs": [],
        "sequences_agree": None,
    }  # fmt: skip


def _write_json(path: Path, result: dict[str, Any]) -> None:
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(result), encoding="utf-8")
    temporary.replace(path)
