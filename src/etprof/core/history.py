"""Runs over time, as data: the latency of one variant on one device in every run, and where it changed for good."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TrendPoint:
    """One run of a series; `facts` is what its manifest says that can explain a change, each by its name."""

    run_id: str
    started_at: str
    folder: str
    median_ms: float
    noise_floor: float | None = None
    commit: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """A change that lasted: `index` is that of the first point after it.

    `change` is the share of time that was added, negative where time was saved; `spread` is how far single runs lie
    from the level they belong to (standard deviation, as a share). `is_beyond_noise` also counts the noise inside the
    runs. `changed` has each fact that differs between the last point before and the first after: name, before, after.
    """

    index: int
    before_ms: float
    after_ms: float
    change: float
    spread: float
    p_value: float
    is_beyond_noise: bool
    changed: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class TrendGroup:
    """Runs of a series with the same version, commit or device; `change` is against the group before it."""

    name: str
    runs: int
    median_ms: float
    spread: float | None
    change: float | None


@dataclass(frozen=True)
class Trend:
    """A model's variant on a device, run by run, the oldest first. `spread` is None where there are too few runs."""

    model: str
    variant: str
    device: str
    points: tuple[TrendPoint, ...]
    spread: float | None
    steps: tuple[Step, ...] = ()
    groups: tuple[TrendGroup, ...] = ()

    @property
    def level_start(self) -> int:
        """The first point of the level that the series is on now."""
        return self.steps[-1].index if self.steps else 0

    @property
    def stable(self) -> tuple[TrendPoint, ...]:
        return self.points[self.level_start :]
