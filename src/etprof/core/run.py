"""What a measurement gives back: one result per block, and the session that holds them all."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from etprof.core.model import ExportMeta
from etprof.core.plan import Block, Plan, Variant

# A runner of ExecuTorch's own, which reports less than ours.
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


@dataclass(frozen=True, kw_only=True)
class RunnerResult:
    """What a runner says of its block. Times are raw, per iteration, in nanoseconds; file names are the runner's."""

    error: str = ""
    runner: str = ""
    executorch_version: str = ""
    method_name: str = ""
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
    cpu_before: CpuState = field(default_factory=CpuState)
    cpu_after: CpuState = field(default_factory=CpuState)

    @property
    def is_ok(self) -> bool:
        return not self.error

    @property
    def is_stock(self) -> bool:
        return self.runner == STOCK_RUNNER


@dataclass(frozen=True, kw_only=True)
class BlockResult(RunnerResult):
    """Everything known of one block: what its runner said, and where its files are, relative to the session."""

    experiment: str
    threads: int
    index: int
    etdump: str = ""
    samples: str = ""
    log: str = ""
    retried: tuple[str, ...] = ()
    started_at: str = ""
    duration_s: float = 0.0

    @property
    def variant(self) -> Variant:
        return Variant(self.experiment, self.threads)

    @property
    def name(self) -> str:
        """For readers: on_t1, block 2."""
        return f"{self.variant.stem}, block {self.index + 1}"

    @classmethod
    def of(cls, block: Block, said: RunnerResult, **known: Any) -> "BlockResult":
        """The result of a block: what its runner said, and what the caller knows besides."""
        answers = {each.name: getattr(said, each.name) for each in fields(RunnerResult)}
        return cls(experiment=block.experiment.name, threads=block.threads, index=block.index, **answers, **known)


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
    it was run that a reader of the report has to know; `reports` are the report files that were written from it.
    `is_older` marks a folder of the format before ours, of which only the traces are known.
    """

    plan: Plan
    device: DeviceInfo
    model_sha256: str
    inputs_sha256: tuple[str, ...]
    export_meta: ExportMeta | None
    versions: Mapping[str, str]
    command: str
    started_at: str
    ended_at: str = ""
    stop_reason: str = ""
    notes: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    results: tuple[BlockResult, ...] = ()
    is_older: bool = False

    def successful(self, variant: Variant) -> tuple[BlockResult, ...]:
        """The blocks of a variant that did not fail."""
        return tuple(r for r in self.results if r.variant == variant and r.is_ok)
