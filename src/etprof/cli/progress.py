"""What is shown while something goes on: a bar or a spinner on a terminal, a line for each block of a run elsewhere."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from etprof.cli.console import say
from etprof.core.plan import Block, Plan
from etprof.core.run import BlockResult
from etprof.core.units import NO_TIMES, format_ns, format_seconds


class RunProgress:
    """Observes a run. Use as a context manager, so that the terminal is left as it was."""

    def __init__(self) -> None:
        self._show_times = True
        console = Console(stderr=True)
        self._is_terminal = console.is_terminal
        # While the bar is there, rich puts what others write to standard error above it.
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not self._is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None, left="")
        self._planned = self._variants = self._done = self._resumed = 0
        self._started = time.monotonic()

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self._bar.stop()
        if kind is KeyboardInterrupt:
            say("interrupted: every finished block is kept; --resume continues the run")

    def run_started(self, plan: Plan, done: int, *, times_are_real: bool) -> None:
        self._show_times = times_are_real
        self._variants = len(plan.variants)
        self._planned = plan.schedule.blocks * self._variants
        self._done = self._resumed = done
        self._started = time.monotonic()
        self._bar.update(self._task, total=self._total, completed=done)

    @property
    def _total(self) -> int:
        """Blocks of the planned rounds, and of those that were added since."""
        added = max(self._done - self._planned, 0)
        return self._planned + -(-added // self._variants) * self._variants if added else self._planned

    def block_started(self, block: Block) -> None:
        self._bar.update(self._task, description=block.name)

    def block_retried(self, block: Block, reason: str) -> None:
        say(f"{block.name}: {reason}; trying again")

    def block_ended(self, result: BlockResult) -> None:
        self._done += 1
        left = self._time_left()
        self._bar.update(self._task, total=self._total, completed=self._done, left=left)
        if not result.is_ok:
            say(f"block {result.index + 1} of {result.variant.stem} failed: {result.error}")
        elif not self._is_terminal:
            said = f"block {self._done} of {self._total}: {result.variant.stem}{self._median(result)}"
            say(f"{said}; {left}" if left else said)

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


@contextmanager
def export_stages(title: str) -> Iterator[Callable[[str], None]]:
    """A line that names the running stage, on a descriptor of its own: the export takes over the usual two."""
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as stream:
        console = Console(file=stream, highlight=False)
        with console.status(escape(title), spinner="line") as status:
            yield lambda stage: status.update(escape(f"{title}: {stage}"))
