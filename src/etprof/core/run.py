"""What a measurement gives back: one result per block, and the session that holds them all."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from etprof.core.exploration import Dropped, Exploration
from etprof.core.memory import LoadStage
from etprof.core.model import ExportMeta
from etprof.core.plan import Block, Plan, Program, Variant
from etprof.core.runtimes import EXECUTORCH, RUNTIMES

# Exit codes of our runners by which they say that no variant could run: the model or an input is at fault.
MODEL_UNREADABLE, MODEL_INVALID, INPUTS_WRONG = 5, 6, 7

# Among the versions of a session: the commit that the installed ExecuTorch was built from.
EXECUTORCH_COMMIT = "executorch commit"

# Runners of ours, by the names they have in results; one of another runtime has the runtime's.
OUR_RUNNERS = ("native", "python", *(name for name in RUNTIMES if name != EXECUTORCH))

# A runner of ExecuTorch's own, which reports less than ours.
STOCK_RUNNER = "stock executor_runner"

# The number of a block in the names of its files, and addresses.
_OF_ONE_BLOCK = re.compile(r"_b\d+\b|0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Job:
    """A block made ready for a device: the files that go in, and where the files that come out belong.

    `samples` is None where kernels are not to be sampled; no `input_shapes` means the largest the program allows. With
    `peak_passes` no model runs: the runner measures so many times what the CPU can do. `workload` is the file of a
    workload's steps, and `steps` the one for their times. `page_cache` is where the model's file is to be when it is
    loaded, in or out; `packed_cache` the file for packed weights, where a load option asks for one.
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
    method: str = ""
    input_shapes: tuple[tuple[int, ...], ...] = ()
    peak_passes: int | None = None
    runtime: str = EXECUTORCH
    workload: Path | None = None
    steps: Path | None = None
    page_cache: str = ""
    packed_cache: Path | None = None


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
    """What disturbs a measurement, read before and after the timed iterations; None where the system does not tell.

    `frequencies_khz` has the cores the block may use, by number, and is read by a runner only: around a block the cores
    are idle. `throttling` is the system's own level: 0 is none.
    """

    frequencies_khz: Mapping[int, int] = field(default_factory=dict)
    load_average: float | None = None
    temperature_c: float | None = None
    governors: tuple[str, ...] = ()
    throttling: int | None = None
    battery_percent: int | None = None
    battery_c: float | None = None
    on_battery: bool | None = None
    saves_power: bool | None = None


@dataclass(frozen=True)
class ThreadTime:
    """What one thread got during the timed iterations, in nanoseconds; None where the system does not tell.

    `waited_ns` is the time it was ready to run and had no core; the cores are where it was first and last.
    """

    ran_ns: int
    waited_ns: int | None = None
    core_before: int | None = None
    core_after: int | None = None


@dataclass(frozen=True)
class CpuTime:
    """The timed iterations together: how long they took, and the CPU time they got.

    `threads` are those that ran, the one that executes the model first.
    """

    wall_ns: int
    cpu_ns: int
    threads: tuple[ThreadTime, ...] = ()


@dataclass(frozen=True)
class OutputTensor:
    """One output of the model's first inference: its digest, and the file with its values relative to the session.

    Outputs with the same bytes share one file. `dtype` is `string`, `none` or `list` where it is no tensor; without a
    value that bytes could hold there is neither digest nor file.
    """

    dtype: str
    shape: tuple[int, ...]
    sha256: str
    file: str


@dataclass(frozen=True, kw_only=True)
class RunnerResult:
    """What a runner says of its block. Times are raw, per iteration, in nanoseconds; file names are the runner's.

    `has_debug_log` marks a stock runner whose log has messages for debugging. `stages` are those of its start,
    `planned_bytes` the buffers that the program planned, `cached_share` what of the model's file was in the page cache
    when it was loaded. With a workload an iteration is a
    sequence: from the start of its first step to the end of its last, with the gaps between steps and without resets.
    `outputs` are then those of the last step of each phase, in order, of the first sequence, and `sequences_agree` says
    whether the second had the same; None where there was no second one to look at.
    """

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
    stages: tuple[LoadStage, ...] = ()
    planned_bytes: int | None = None
    cached_share: float | None = None
    outputs: tuple[OutputTensor, ...] = ()
    cpu_before: CpuState = field(default_factory=CpuState)
    cpu_after: CpuState = field(default_factory=CpuState)
    cpu_time: CpuTime | None = None
    has_debug_log: bool = False
    sequences_agree: bool | None = None

    @property
    def is_ok(self) -> bool:
        return not self.error

    @property
    def is_stock(self) -> bool:
        return self.runner == STOCK_RUNNER


@dataclass(frozen=True, kw_only=True)
class BlockResult(RunnerResult):
    """Everything known of one block: what its runner said, and where its files are, relative to the session.

    `steps` has the time of every step of its timed sequences, which `traces.steps_file.read_steps` reads.
    """

    experiment: str
    threads: int
    index: int
    etdump: str = ""
    samples: str = ""
    steps: str = ""
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

    @property
    def failure(self) -> str:
        """The error's first line without what names one block: equal for blocks that failed the same way."""
        return _OF_ONE_BLOCK.sub("", self.error.partition("\n")[0])

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
class SmeUnits:
    """The units of a CPU that execute SME: one for each core, or one that several cores share.

    `cores` has those of each unit. A system that reports none has its number of units from `assumed_from`, the name of
    its chip.
    """

    count: int
    is_shared: bool
    cores: tuple[tuple[int, ...], ...] = ()
    assumed_from: str = ""


@dataclass(frozen=True)
class DeviceInfo:
    """A device's description of itself. What changes from minute to minute is in the blocks' CpuState.

    `cpu_count` is the number of cores a block may use: those online that its process is allowed, within its quota.
    `performance_cores` are all but the little ones, None where all are alike or the system does not tell.
    """

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
    sme_units: SmeUnits | None = None
    performance_cores: int | None = None


@dataclass(frozen=True)
class ProgramRecord:
    """A program as it was run, with nothing of it left open: method, inputs and shapes are those that were used.

    `experiments` run it. `state` describes each tensor of the model that keeps its values between inferences.
    `reference` are the outputs of the eager fp32 model for these inputs, where its export stored them: their files are
    relative to the session. `file_bytes` is the size of the model's file, `weight_bytes` what of it is data, not code,
    and `state_bytes` what all its methods remember, such as a key-value cache.
    """

    program: Program
    experiments: tuple[str, ...]
    model_sha256: str
    inputs_sha256: tuple[str, ...] = ()
    export_meta: ExportMeta | None = None
    state: tuple[str, ...] = ()
    reference: tuple[OutputTensor, ...] = ()
    file_bytes: int | None = None
    weight_bytes: int | None = None
    state_bytes: int | None = None


@dataclass(frozen=True)
class Session:
    """One run of a plan on one device; saved after every block, so it may hold fewer results than planned.

    `stop_reason` says why no more rounds were run and is empty while the run is not over; `notes` are facts about how
    it was run that a reader of the report has to know; `reports` are the report files that were written from it.
    `runner_sha256` has the digests of what executes the blocks, each by its name for readers; `prepared` are settings
    that --prepare held on the device. `programs` has each distinct program once. `plan_path` is the file that the plan
    was read from, None where nobody wrote one. `exploration` is there where the run is to choose between builds of a
    model; `dropped` are those that were not run to the end, because they are surely worse. `is_older` marks a folder of
    the format before ours, of which only the traces are known.
    """

    plan: Plan
    device: DeviceInfo
    programs: tuple[ProgramRecord, ...]
    versions: Mapping[str, str]
    command: str
    started_at: str
    ended_at: str = ""
    stop_reason: str = ""
    notes: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    runner_sha256: Mapping[str, str] = field(default_factory=dict)
    prepared: tuple[str, ...] = ()
    results: tuple[BlockResult, ...] = ()
    plan_path: Path | None = None
    exploration: Exploration | None = None
    dropped: tuple[Dropped, ...] = ()
    is_older: bool = False

    def program(self, variant: Variant) -> ProgramRecord:
        """What a variant runs."""
        return next(each for each in self.programs if variant.experiment in each.experiments)

    @property
    def model_names(self) -> tuple[str, ...]:
        """The files of the models, each name once."""
        return tuple(dict.fromkeys(each.program.model.name for each in self.programs))

    @property
    def given_up(self) -> tuple[Variant, ...]:
        """Variants whose first two blocks failed the same way: they are not run again until the run is resumed."""
        return tuple(variant for variant in self.plan.variants if self._failed_twice(variant))

    def _failed_twice(self, variant: Variant) -> bool:
        first = [r for r in self.results if r.variant == variant][:2]
        return len(first) == 2 and all(r.error for r in first) and len({r.failure for r in first}) == 1

    @property
    def left_out(self) -> tuple[Variant, ...]:
        """Variants that are not run again: they failed, or are surely worse than another."""
        return (*self.given_up, *(each.variant for each in self.dropped))

    def successful(self, variant: Variant) -> tuple[BlockResult, ...]:
        """The blocks of a variant that did not fail."""
        return tuple(r for r in self.results if r.variant == variant and r.is_ok)
