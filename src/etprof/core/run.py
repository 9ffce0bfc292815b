"""What a measurement gives back: one result per block, and the session that holds them all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etprof.core.plan import Block, Plan

# Said wherever a time of an emulated device would stand.
NO_TIMES = "emulated: times not meaningful"
# A runner of ExecuTorch's own, which tells less than ours.
STOCK_RUNNER = "stock executor_runner"


@dataclass(frozen=True)
class Job:
    """A block made ready for a device: the files that go in, and where the files that come out belong.

    `samples` is None where kernels are not to be sampled.
    """

    block: Block
    model: Path
    inputs: tuple[Path, ...]
    result: Path
    etdump: Path
    log: Path
    outputs: Path
    timeout_s: float
    samples: Path | None = None


@dataclass(frozen=True)
class JobOutcome:
    """How the runner's process ended; what it measured is in the job's files.

    `interruptions` are earlier tries at the same job that the device did not let end; `before` and `after` are what
    the device said of itself around the job, where it can.
    """

    exit_code: int | None
    duration_s: float
    problem: str = ""
    interruptions: tuple[str, ...] = ()
    before: "CpuState | None" = None
    after: "CpuState | None" = None


@dataclass(frozen=True)
class CpuState:
    """What disturbs a measurement, read before and after a block; None where the system does not tell.

    `throttling` is the system's own level: 0 is none.
    """

    frequencies_khz: tuple[int, ...] = ()
    load_average: float | None = None
    temperature_c: float | None = None
    governors: tuple[str, ...] = ()
    throttling: int | None = None
    battery_percent: int | None = None
    battery_c: float | None = None
    on_battery: bool | None = None
    saves_power: bool | None = None


@dataclass(frozen=True)
class OutputTensor:
    """One output of the model: its digest, and the file with its values relative to the session."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str
    file: str


@dataclass(frozen=True)
class BlockResult:
    """Everything one block said. Times are raw, per iteration, in nanoseconds; files are relative to the session."""

    experiment: str
    threads: int
    index: int
    error: str = ""
    runner: str = ""
    executorch_version: str = ""
    threads_in_force: int | None = None
    features_seen: tuple[str, ...] = ()
    features_hidden: tuple[str, ...] = ()
    cpu_affinity: tuple[int, ...] = ()
    load_ns: int | None = None
    warmup_ns: tuple[int, ...] = ()
    warmup_steady: bool | None = None
    latency_ns: tuple[int, ...] = ()
    latency_is_traced: bool = False
    traced_ns: tuple[int, ...] = ()
    peak_bytes: int | None = None
    outputs: tuple[OutputTensor, ...] = ()
    etdump: str = ""
    samples: str = ""
    log: str = ""
    retried: tuple[str, ...] = ()
    started_at: str = ""
    duration_s: float = 0.0
    cpu_before: CpuState = field(default_factory=CpuState)
    cpu_after: CpuState = field(default_factory=CpuState)

    @property
    def is_ok(self) -> bool:
        return not self.error

    @property
    def is_stock(self) -> bool:
        return self.runner == STOCK_RUNNER

    @property
    def key(self) -> str:
        return f"{self.experiment}_t{self.threads}"


@dataclass(frozen=True)
class Cluster:
    """Cores that are alike; `name` is little, big or prime, and empty where all cores are alike."""

    name: str
    core_type: str
    cores: tuple[int, ...]
    max_khz: int | None = None


@dataclass(frozen=True)
class DeviceInfo:
    """A device's description of itself. What changes from minute to minute is in the blocks' CpuState."""

    name: str
    system: str
    architecture: str
    cpu_model: str
    cpu_count: int
    features: tuple[str, ...]
    sme_vector_bits: int | None = None
    governor: str = ""
    times_are_real: bool = True
    model: str = ""
    soc: str = ""
    build: str = ""
    clusters: tuple[Cluster, ...] = ()


@dataclass(frozen=True)
class Session:
    """One run of a plan on one device; saved after every block, so it may hold fewer results than planned.

    `stop_reason` says why no more rounds were run and is empty while the run is not over; `notes` are facts about how
    it was run that a reader of the report has to know. `is_older` marks a folder of the format before ours, of which
    only the traces are known.
    """

    plan: Plan
    device: DeviceInfo
    model_sha256: str
    inputs_sha256: tuple[str, ...]
    export_meta: Mapping[str, Any]
    versions: Mapping[str, str]
    command: str
    started_at: str
    ended_at: str = ""
    stop_reason: str = ""
    notes: tuple[str, ...] = ()
    results: tuple[BlockResult, ...] = ()
    is_older: bool = False

    def results_of(self, experiment: str, threads: int) -> tuple[BlockResult, ...]:
        return tuple(r for r in self.results if r.experiment == experiment and r.threads == threads and r.is_ok)
