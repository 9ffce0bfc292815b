"""How far a run is, for callers that show it: finished blocks, planned ones where they are known, and a few words."""

from collections.abc import Callable

from etprof.app.pace import TimeLeft
from etprof.core.plan import Block, Plan
from etprof.core.run import BlockResult

Progress = Callable[[int, int | None, str], None]


class RunCounter:
    """Observes a run and counts its blocks."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._done = self._total = 0

    def run_started(self, plan: Plan, done: int, *, times_are_real: bool) -> None:
        self._done, self._total = done, plan.schedule.blocks * len(plan.variants)

    def block_started(self, block: Block) -> None:
        self._tell(block.name)

    def block_retried(self, block: Block, reason: str) -> None:
        self._tell(f"{block.name}: {reason}; trying again")

    def block_ended(self, result: BlockResult, left: TimeLeft | None = None) -> None:
        self._done += 1
        self._tell(f"{result.name}: {'finished' if result.is_ok else result.error}")

    def told(self, text: str) -> None:
        self._tell(text)

    def variant_left_out(self, text: str, blocks: int) -> None:
        self._total -= blocks
        self._tell(text)

    def _tell(self, text: str) -> None:
        # Rounds are added while an interval is too wide: the total is what is known to come.
        self._total = max(self._total, self._done)
        self._progress(self._done, self._total, text)
