"""What is to be measured: experiments, who is compared with whom, and in which order blocks run."""

from dataclasses import dataclass, field
from pathlib import Path

TIMING = "timing"
TRACE = "trace"
MODES = (TIMING, TRACE)

INTERLEAVED = "interleaved"
SEQUENTIAL = "sequential"
ORDERS = (INTERLEAVED, SEQUENTIAL)


@dataclass(frozen=True)
class Warmup:
    """Untimed iterations before a block's timed ones: at least `minimum`, at most `maximum`, ending when steady."""

    minimum: int = 3
    maximum: int = 50


@dataclass(frozen=True)
class Experiment:
    """One arm: the same program and inputs under one setting of the machine.

    In trace mode only traced iterations run: such an arm tells about operators and is no source of latency.
    `cpu_cluster` is the name that `cpu_affinity` was or will be found by on the device: little, big or prime.
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


@dataclass(frozen=True)
class Pair:
    """A comparison that was asked for. Speed-up is baseline time / candidate time."""

    baseline: str
    candidate: str


@dataclass(frozen=True)
class Schedule:
    """How many blocks each arm gets and when that is enough.

    Every arm gets `blocks` blocks. Up to `max_blocks` more rounds follow while the interval of a speed-up is wider
    than `target_precision` to either side. `time_budget_s` ends the run after any whole round from the third on.
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


@dataclass(frozen=True)
class Plan:
    model: Path
    output_root: Path
    experiments: tuple[Experiment, ...]
    pairs: tuple[Pair, ...]
    schedule: Schedule = field(default_factory=Schedule)
    inputs: tuple[Path, ...] = ()

    def experiment(self, name: str) -> Experiment:
        return next(e for e in self.experiments if e.name == name)

    @property
    def arms(self) -> tuple[tuple[Experiment, int], ...]:
        """Every experiment at every one of its thread counts."""
        return tuple((experiment, threads) for experiment in self.experiments for threads in experiment.threads)


@dataclass(frozen=True)
class Block:
    """One fresh process: one experiment at one thread count, the `index`-th time."""

    experiment: Experiment
    threads: int
    index: int

    @property
    def key(self) -> str:
        return f"{self.experiment.name}_t{self.threads}"
