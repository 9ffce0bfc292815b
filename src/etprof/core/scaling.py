"""How the latency of a model changes with the number of threads, as data; speed-ups are those of more over fewer."""

from dataclasses import dataclass
from enum import Enum

from etprof.core.estimates import Interval, Verdict
from etprof.core.run import SmeUnits


class StepEffect(Enum):
    """What one step to more threads does; a gain of up to the equivalence bound counts as none."""

    GAINS = "gains"
    NOTHING = "gains nothing"
    LOSES = "loses"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class ThreadPoint:
    """One thread count of an experiment. `latency_ms` is the geometric mean of the medians of its blocks.

    Speed-up and efficiency are against the fewest threads, which have none; efficiency is 1 where twice the threads
    take half the time.
    """

    threads: int
    latency_ms: float
    latency: Interval | None
    speedup: Interval | None = None
    efficiency: Interval | None = None


@dataclass(frozen=True)
class ThreadStep:
    """From one measured thread count to the next."""

    fewer: int
    more: int
    speedup: Interval | None
    effect: StepEffect


@dataclass(frozen=True)
class PartCurve:
    """One part of the traced time at each thread count, per inference.

    `serial_share` is the share of its time on one thread that more threads do not shorten (Amdahl's law).
    """

    name: str
    times_ms: tuple[float, ...]
    serial_share: Interval | None


@dataclass(frozen=True)
class ScalingCurve:
    """One experiment at each of its thread counts.

    `best` is the fewest threads that no other count is faster than; `undecided` are the counts that may be better.
    `limit` is the first step that does not gain, or about which the data says nothing; None where every step gains.
    `serial_share` is fitted up to `fitted_to` threads. `limiting_part` loses most time against ideal scaling where
    scaling ends; it is empty where no part stands out.
    """

    experiment: str
    points: tuple[ThreadPoint, ...]
    steps: tuple[ThreadStep, ...]
    best: int
    undecided: tuple[int, ...]
    limit: ThreadStep | None
    serial_share: Interval | None = None
    fitted_to: int | None = None
    parts: tuple[PartCurve, ...] = ()
    limiting_part: str = ""

    def point(self, threads: int) -> ThreadPoint:
        return next(point for point in self.points if point.threads == threads)


@dataclass(frozen=True)
class ThreadVerdict:
    """A pair of experiments at one thread count. Speed-up is baseline time / candidate time."""

    threads: int
    speedup: Interval | None
    verdict: Verdict


@dataclass(frozen=True)
class Crossover:
    """Two experiments at each thread count that both have.

    `threads` is the lowest count at which the baseline is faster, None where none was found; `undecided` are the
    counts below it at which the baseline may be faster.
    """

    baseline: str
    candidate: str
    counts: tuple[ThreadVerdict, ...]
    threads: int | None
    undecided: tuple[int, ...]


@dataclass(frozen=True)
class Scaling:
    """The thread counts of a run. Verdicts hold together, with `confidence`, for all `comparisons` (Holm)."""

    curves: tuple[ScalingCurve, ...]
    crossovers: tuple[Crossover, ...]
    comparisons: int
    confidence: float
    equivalence_bound: float
    usable_cores: int
    performance_cores: int | None = None
    sme_units: SmeUnits | None = None
