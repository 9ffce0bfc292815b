"""A runner's result file and output tensors, read into our own terms."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from etprof.core.errors import TraceError
from etprof.core.run import BlockResult, CpuState, OutputTensor, RunnerResult

_SCHEMA_VERSION = 1


class _Output(BaseModel):
    dtype: str
    shape: tuple[int, ...]
    sha256: str
    file: str


class _CpuState(BaseModel):
    frequencies_khz: tuple[int, ...] = ()
    load_average: float | None = None
    temperature_c: float | None = None


class _RunnerResult(BaseModel):
    """The contract of docs/reference/runner.md; a runner may say more than we read."""

    model_config = ConfigDict(extra="ignore", strict=False)

    schema_version: int
    runner: str
    executorch_version: str
    error: str
    method_name: str = ""
    threads: int | None
    features_seen: tuple[str, ...]
    features_hidden: tuple[str, ...]
    cpu_affinity: tuple[int, ...] = ()
    load_ns: int | None
    warmup_ns: tuple[int, ...]
    warmup_steady: bool | None
    latency_ns: tuple[int, ...]
    traced_ns: tuple[int, ...]
    peak_bytes: int | None
    cpu_before: _CpuState | None
    cpu_after: _CpuState | None
    outputs: tuple[_Output, ...]


def read_runner_result(path: Path) -> RunnerResult:
    try:
        said = _RunnerResult.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TraceError(f"The runner left no result file {path.name}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise TraceError(f"{path.name} is not a runner's result: {where}: {first['msg']}.") from error
    if said.schema_version != _SCHEMA_VERSION:
        raise TraceError(
            f"{path.name} has version {said.schema_version}; this etprof reads version {_SCHEMA_VERSION}.",
            hint="Rebuild the runner with `etprof runner build`.",
        )
    return RunnerResult(
        error=said.error,
        runner=said.runner,
        executorch_version=said.executorch_version,
        method_name=said.method_name,
        threads_in_force=said.threads,
        features_seen=said.features_seen,
        features_hidden=said.features_hidden,
        cpu_affinity=said.cpu_affinity,
        load_ns=said.load_ns,
        warmup_ns=said.warmup_ns,
        warmup_steady=said.warmup_steady,
        latency_ns=said.latency_ns,
        traced_ns=said.traced_ns,
        peak_bytes=said.peak_bytes,
        cpu_before=_cpu_state(said.cpu_before),
        cpu_after=_cpu_state(said.cpu_after),
        outputs=tuple(OutputTensor(o.dtype, o.shape, o.sha256, o.file) for o in said.outputs),
    )


def _cpu_state(said: _CpuState | None) -> CpuState:
    return CpuState(**said.model_dump()) if said else CpuState()


def read_output_values(folder: Path, result: BlockResult) -> tuple[NDArray[np.float64], ...]:
    """The output tensors of a block as numbers, flattened."""
    return tuple(_read_values(folder / output.file, output.dtype) for output in result.outputs)


def _read_values(path: Path, dtype: str) -> NDArray[np.float64]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"The output file {path.name} cannot be read: {error.strerror}.") from error
    if dtype == "bfloat16":
        # numpy has no bfloat16: its bits are the upper half of a float32.
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    try:
        return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TraceError(f"The output file {path.name} does not hold {dtype} values.") from error
