"""A runner's result file and output tensors, read into our own terms."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from etprof.core.errors import TraceError
from etprof.core.memory import LoadStage
from etprof.core.regular_files import read_regular
from etprof.core.run import CpuState, CpuTime, OutputTensor, RunnerResult, ThreadTime
from etprof.traces.runner_answers import RunnerAnswer, read_answer

# 1: the first.
# 2: frequencies have the number of their core; `cpu_time`.
_SCHEMA_VERSION = 2
_MOST_BYTES = 1 << 26
# The types that numpy reads, and one whose bits are the upper half of a float32.
_NUMBERS = frozenset({
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "bfloat16",
})  # fmt: skip


class _Output(BaseModel):
    dtype: str
    shape: tuple[int, ...]
    sha256: str
    # A plain name in the folder of outputs, or none.
    file: str = Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$")


class _LoadStage(BaseModel):
    name: str = Field(max_length=40)
    duration_ns: int | None = None
    peak_bytes: int | None = None
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    model_bytes: int | None = None
    library_bytes: int | None = None
    cache_bytes: int | None = None
    file_bytes: int | None = None
    anonymous_bytes: int | None = None


class _CpuState(BaseModel):
    frequencies_khz: dict[int, int] = {}
    load_average: float | None = None
    temperature_c: float | None = None
    throttling: int | None = None


class _ThreadTime(BaseModel):
    ran_ns: int
    waited_ns: int | None
    core_before: int | None
    core_after: int | None


class _CpuTime(BaseModel):
    wall_ns: int
    cpu_ns: int
    threads: tuple[_ThreadTime, ...]


class _RunnerResult(RunnerAnswer):
    """The contract of docs/reference/runner.md; a runner may say more than we read."""

    model_config = ConfigDict(extra="ignore", strict=False)

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
    stages: tuple[_LoadStage, ...] = Field(default=(), max_length=100)
    planned_bytes: int | None = None
    cached_share: float | None = None
    cpu_before: _CpuState | None
    cpu_after: _CpuState | None
    cpu_time: _CpuTime | None
    outputs: tuple[_Output, ...]
    sequences_agree: bool | None = None


def read_runner_result(path: Path) -> RunnerResult:
    said = read_answer(
        path, _RunnerResult, version=_SCHEMA_VERSION, most_bytes=_MOST_BYTES, wrong="is not a runner's result"
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
        stages=tuple(LoadStage(**stage.model_dump()) for stage in said.stages),
        planned_bytes=said.planned_bytes,
        cached_share=said.cached_share,
        cpu_before=_cpu_state(said.cpu_before),
        cpu_after=_cpu_state(said.cpu_after),
        cpu_time=_cpu_time(said.cpu_time),
        outputs=tuple(OutputTensor(o.dtype, o.shape, o.sha256, o.file) for o in said.outputs),
        sequences_agree=said.sequences_agree,
    )


def _cpu_state(said: _CpuState | None) -> CpuState:
    return CpuState(**said.model_dump()) if said else CpuState()


def _cpu_time(said: _CpuTime | None) -> CpuTime | None:
    if said is None:
        return None
    return CpuTime(said.wall_ns, said.cpu_ns, tuple(ThreadTime(**thread.model_dump()) for thread in said.threads))


Values = NDArray[np.float64]


def read_output_values(
    folder: Path, outputs: Sequence[OutputTensor], known: dict[tuple[str, str], Values] | None = None
) -> tuple[Values | None, ...]:
    """Outputs of a session as numbers, flattened; None for one that is not numbers, such as a text.

    `known` are those that were read already, by file and type; what is read now is added.
    """
    read = {} if known is None else known
    keys = [(o.file, o.dtype) if o.file and is_number(o.dtype) else None for o in outputs]
    for file, dtype in (key for key in keys if key and key not in read):
        read[file, dtype] = read_values(folder / file, dtype)
    return tuple(read[key] if key else None for key in keys)


def is_number(dtype: str) -> bool:
    return dtype in _NUMBERS


def read_values(path: Path, dtype: str) -> Values:
    """A tensor's raw bytes as numbers, flattened."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise TraceError(f"The values in {path.name} cannot be read: {error.strerror}.") from error
    if dtype == "bfloat16":
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)
    try:
        return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(np.float64)
    except ValueError as error:
        raise TraceError(f"{path.name} does not hold {dtype} values.") from error
