"""What is to be measured: experiments, who is compared with whom, and in which order blocks run."""

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from etprof.core.load_options import LoadOptions
from etprof.core.runtimes import EXECUTORCH
from etprof.core.workload import Workload

TIMING = "timing"
TRACE = "trace"
MODES = (TIMING, TRACE)

INTERLEAVED = "interleaved"
SEQUENTIAL = "sequential"
ORDERS = (INTERLEAVED, SEQUENTIAL)

# Whether the model's file is in the page cache when a block loads it: in every second round not, always, or as it was.
ALTERNATE = "alternate"
CACHED = "in"
AS_IS = "as is"
PAGE_CACHES = (ALTERNATE, CACHED, AS_IS)

# Behind the name of an experiment: its twin, which samples kernels and gives no latency.
TWIN_SUFFIX = "_kernels"

# The name of an experiment is that of its folder, too.
EXPERIMENT_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"

# Above what any run has, and far below what a table or a loop could not hold.
MOST_COUNT = 1_000_000
MOST_BLOCKS = 10_000
MOST_CORES = 1 << 16
MOST_SEED = 1 << 63


@dataclass(frozen=True)
class Warmup:
    """Untimed iterations before a block's timed ones: at least `minimum`, at most `maximum`, ending when steady."""

    minimum: int = 3
    maximum: int = 50


@dataclass(frozen=True)
class Program:
    """What is executed: a method of a model's file with its inputs, or a workload, by a runtime.

    `method`, `inputs` and `input_shapes` are empty where they are the model's own: `forward`, and those of its export.
    A workload has inputs of its own; `method` is that of its phases that name none.
    """

    model: Path
    method: str = ""
    inputs: tuple[Path, ...] = ()
    input_shapes: tuple[tuple[int, ...], ...] = ()
    runtime: str = EXECUTORCH
    workload: Workload | None = None


@dataclass(frozen=True)
class Experiment:
    """One program under one setting of the machine, at one or more thread counts.

    In trace mode only traced iterations run: such an experiment is about operators and gives no latency.
    `cpu_cluster` is the name that `cpu_affinity` was or will be found by on the device: little, big or prime.
    `model`, `method`, `inputs`, `input_shapes`, `runtime` and `workload` are the plan's where they are empty:
    `Plan.program` says which program it is. With a workload, `runs`, `traced_runs` and `warmup` count sequences.
    """

    name: str
    mode: str = TIMING
    hide_isa: tuple[str, ...] = ()
    threads: tuple[int, ...] = (1,)
    runs: int = 20
    traced_runs: int = 10
    warmup: Warmup = field(default_factory=Warmup)
    runner_path: Path | None = None
    cpu_affinity: tuple[int, ...] = ()
    cpu_cluster: str = ""
    extra_args: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    model: Path | None = None
    method: str = ""
    inputs: tuple[Path, ...] = ()
    input_shapes: tuple[tuple[int, ...], ...] = ()
    runtime: str = ""
    workload: Workload | None = None
    load_options: LoadOptions = ()


@dataclass(frozen=True, order=True)
class Variant:
    """One experiment at one thread count: what is measured, compared and reported on."""

    experiment: str
    threads: int

    @property
    def label(self) -> str:
        """For readers: on, 2 threads."""
        return f"{self.experiment}, {self.threads} thread{'s' if self.threads != 1 else ''}"

    @property
    def stem(self) -> str:
        """What names of its files begin with: on_t2."""
        return f"{self.experiment}_t{self.threads}"


@dataclass(frozen=True)
class Pair:
    """A comparison that was asked for. Speed-up is baseline time / candidate time.

    Without thread counts, the sides are compared at each that both have, or at the only one of each.
    """

    baseline: str
    candidate: str
    baseline_threads: int | None = None
    candidate_threads: int | None = None


@dataclass(frozen=True)
class Schedule:
    """How many blocks each variant gets and when that is enough.

    Every variant gets `blocks` blocks. Further rounds follow, up to `max_blocks` in all, while the interval of a
    speed-up is wider than `target_precision` to either side. `time_budget_s` ends the run, set-up included, as soon as
    there are three rounds and the next block would end too late. A difference of up to `equivalence_bound` counts as
    none.
    """

    blocks: int = 6
    max_blocks: int = 6
    order: str = INTERLEAVED
    target_precision: float = 0.012
    time_budget_s: float | None = None
    cooldown_s: float = 0.0
    retries: int = 1
    timeout_s: float = 600.0
    seed: int = 0
    equivalence_bound: float = 0.02
    page_cache: str = ALTERNATE

    def cache_of(self, index: int) -> str:
        """Where the model's file is to be when the block of this number loads it: in, out, or empty for either."""
        if self.page_cache == AS_IS:
            return ""
        return "out" if self.page_cache == ALTERNATE and index % 2 else "in"


@dataclass(frozen=True)
class Plan:
    """`model`, `method`, `inputs`, `input_shapes`, `runtime`, `workload` are those of experiments that name no other.

    `advice_off` are the rules of advice that are not applied.
    """

    model: Path
    output_root: Path
    experiments: tuple[Experiment, ...]
    pairs: tuple[Pair, ...]
    schedule: Schedule = field(default_factory=Schedule)
    inputs: tuple[Path, ...] = ()
    method: str = ""
    input_shapes: tuple[tuple[int, ...], ...] = ()
    advice_off: tuple[str, ...] = ()
    runtime: str = EXECUTORCH
    workload: Workload | None = None

    def experiment(self, name: str) -> Experiment:
        return {e.name: e for e in self.experiments}[name]

    def program(self, name: str) -> Program:
        """What an experiment executes: what it names itself, else what the plan names.

        Inputs, their shapes and a workload belong together: an experiment that names one has none from the plan.
        """
        own = self.experiment(name)
        given = own if own.inputs or own.input_shapes or own.workload else self
        return Program(
            model=own.model or self.model,
            method=own.method or self.method,
            inputs=given.inputs,
            input_shapes=given.input_shapes,
            runtime=own.runtime or self.runtime,
            workload=given.workload,
        )

    @property
    def programs(self) -> tuple[Program, ...]:
        """The distinct programs, in the order of the experiments."""
        return tuple(dict.fromkeys(self.program(e.name) for e in self.experiments))

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every experiment at every one of its thread counts."""
        return tuple(Variant(e.name, threads) for e in self.experiments for threads in e.threads)

    @property
    def compared(self) -> tuple[tuple[Variant, Variant], ...]:
        """Baseline and candidate of every comparison."""
        return tuple(
            both
            for pair in self.pairs
            for both in list_compared(pair, self.experiment(pair.baseline), self.experiment(pair.candidate))
        )

    @property
    def thread_steps(self) -> tuple[tuple[Variant, Variant], ...]:
        """From each thread count of a timed experiment to its next one."""
        return tuple(
            (Variant(e.name, fewer), Variant(e.name, more))
            for e in self.experiments
            if e.mode == TIMING
            for fewer, more in pairwise(sorted(e.threads))
        )


def list_compared(pair: Pair, baseline: Experiment, candidate: Experiment) -> tuple[tuple[Variant, Variant], ...]:
    """The variants that a pair stands for; none where its sides have no thread counts that fit."""
    before = _choose_threads(baseline, pair.baseline_threads)
    after = _choose_threads(candidate, pair.candidate_threads)
    counts = [(threads, threads) for threads in before if threads in after]
    if not counts and len(before) == len(after) == 1:
        counts = [(before[0], after[0])]
    return tuple((Variant(baseline.name, one), Variant(candidate.name, other)) for one, other in counts)


def _choose_threads(experiment: Experiment, asked: int | None) -> tuple[int, ...]:
    return tuple(threads for threads in experiment.threads if asked in (None, threads))


@dataclass(frozen=True)
class Block:
    """One fresh process: one experiment at one thread count, the `index`-th time."""

    experiment: Experiment
    threads: int
    index: int

    @property
    def variant(self) -> Variant:
        return Variant(self.experiment.name, self.threads)

    @property
    def name(self) -> str:
        """For readers: on_t1, block 2."""
        return f"{self.variant.stem}, block {self.index + 1}"
