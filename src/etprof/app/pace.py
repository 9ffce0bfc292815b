"""How long a run's blocks take: what it still needs, and whether a block would end within the time budget."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from etprof.core.plan import Schedule, Variant

# A machine that slows down is seen in its latest blocks.
_LATEST = 3


@dataclass(frozen=True)
class Clock:
    """Seconds from some moment on, and a pause."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


@dataclass(frozen=True)
class TimeLeft:
    """What a run still needs: as far as its intervals tell, and with every round that may be added."""

    expected_s: float
    at_most_s: float


class Pace:
    """Every block's time, from the pause before it to its saved result, retries included.

    `began_s` is when the user asked for the run: the set-up before its first block counts as time spent.
    """

    def __init__(self, schedule: Schedule, clock: Clock, began_s: float) -> None:
        self._budget_s = schedule.time_budget_s
        self._clock = clock
        self._began_s = began_s
        self._took_s: dict[Variant, list[float]] = {}

    @property
    def spent_s(self) -> float:
        return self._clock.now() - self._began_s

    def add(self, variant: Variant, took_s: float) -> None:
        self._took_s.setdefault(variant, []).append(took_s)

    def predict_s(self, variants: Iterable[Variant]) -> float:
        """The time of one more block of each, were it as slow as the slowest of the latest."""
        return sum(max(self._known(variant)[-_LATEST:], default=0.0) for variant in variants)

    def fits(self, variants: Iterable[Variant]) -> bool:
        """Whether one more block of each would end within the time budget."""
        return self.has_time_for(self.predict_s(variants))

    def has_time_for(self, seconds: float) -> bool:
        return self._budget_s is None or self.spent_s + seconds <= self._budget_s

    def estimate_left(self, expected: Iterable[Variant], at_most: Iterable[Variant]) -> TimeLeft:
        """The time of these blocks, one variant for each, as the average so far has it; never more than the budget."""
        budget_s = float("inf") if self._budget_s is None else max(self._budget_s - self.spent_s, 0.0)
        average = {variant: fmean(took) for variant, took in self._took_s.items()}
        of_any = fmean(average.values()) if average else 0.0
        likely_s, longest_s = (
            min(sum(average.get(variant, of_any) for variant in each), budget_s) for each in (expected, at_most)
        )
        return TimeLeft(likely_s, longest_s)

    def _known(self, variant: Variant) -> list[float]:
        """What this variant's blocks took, or what all others' did where it had none yet."""
        return self._took_s.get(variant) or [took for each in self._took_s.values() for took in each]
