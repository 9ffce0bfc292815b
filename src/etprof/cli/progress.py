"""How a run shows itself while it goes on: a bar with the time left on a terminal, a line a block elsewhere."""

import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from etprof.cli.console import err
from etprof.core.plan import Block
from etprof.core.run import NO_TIMES, BlockResult
from etprof.core.units import format_ns, format_seconds


class RunProgress:
    """Observes a run. Use as a context manager, so that the terminal is left as it was."""

    def __init__(self, *, show_times: bool = True) -> None:
        self._show_times = show_times
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=err,
            disable=not err.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None, left="")
        self._planned = self._arms = self._done = self._resumed = 0
        self._started = time.monotonic()

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            err.print("stopped: every finished block is kept, and --resume goes on from there")

    def run_started(self, rounds: int, arms: int, done: int) -> None:
        self._planned, self._arms = rounds * arms, arms
        self._done = self._resumed = done
        self._started = time.monotonic()
        self._bar.update(self._task, total=self._total, completed=done)

    @property
    def _total(self) -> int:
        """Blocks of the planned rounds, and of those that were added since."""
        added = max(self._done - self._planned, 0)
        return self._planned + -(-added // self._arms) * self._arms if added else self._planned

    def block_started(self, block: Block) -> None:
        self._bar.update(self._task, description=f"{block.key}, block {block.index + 1}")

    def block_retried(self, block: Block, reason: str) -> None:
        err.print(f"{block.key}, block {block.index + 1}: {reason}; trying again", markup=False)

    def block_ended(self, result: BlockResult) -> None:
        self._done += 1
        left = self._time_left()
        self._bar.update(self._task, total=self._total, completed=self._done, left=left)
        if not result.is_ok:
            err.print(f"block {result.index + 1} of {result.key} failed: {result.error}", markup=False)
        elif not err.is_terminal:
            said = f"block {self._done} of {self._total}: {result.key}{self._median(result)}"
            err.print(f"{said}; {left}" if left else said, markup=False)

    def _time_left(self) -> str:
        if self._done > self._planned:
            return "a round was added: an interval is still too wide"
        if self._done == self._planned:
            return ""
        each = (time.monotonic() - self._started) / (self._done - self._resumed)
        return f"about {format_seconds(each * (self._total - self._done))} left"

    def _median(self, result: BlockResult) -> str:
        if not self._show_times:
            return f", {NO_TIMES}"
        times = sorted(result.latency_ns)
        return f", median {format_ns(times[len(times) // 2])}" if times else ""
