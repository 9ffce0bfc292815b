"""What is shown while something goes on: a bar or a spinner on a terminal, a line for each block of a run elsewhere."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar

from etprof.app.pace import TimeLeft
from etprof.cli.console import say
from etprof.core.plan import Block, Plan
from etprof.core.run import BlockResult
from etprof.core.units import NO_TIMES, format_ns, format_seconds

_FIRST_BLOCK_S = 30.0
_ALMOST = 0.95


class _MovingBar(BarColumn):
    """A bar that moves within a block, as far as the blocks before tell how long one takes."""

    def __init__(self, moved: Callable[[], float]) -> None:
        super().__init__()
        self._moved = moved

    def render(self, task: Task) -> ProgressBar:
        bar = super().render(task)
        bar.completed += self._moved()
        return bar


def share_of_block(elapsed_s: float, usual_s: float | None) -> float:
    """How much of a block is done; below one for as long as it runs, and for the first one only a guess."""
    if usual_s is None:
        return elapsed_s / (elapsed_s + _FIRST_BLOCK_S)
    return min(elapsed_s / usual_s, _ALMOST) if usual_s else 0.0


class RunProgress:
    """Observes a run. Use as a context manager, so that the terminal is left as it was."""

    def __init__(self) -> None:
        self._show_times = True
        console = Console(stderr=True)
        self._is_terminal = console.is_terminal
        # While the bar is there, rich puts what others write to standard error above it.
        self._bar = Progress(
            TextColumn("{task.description}"),
            _MovingBar(self._moved),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not self._is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None, left="")
        self._planned = self._variants = self._done = 0
        self._started_s: float | None = None
        self._took_s: list[float] = []

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
        self._done = done
        self._bar.update(self._task, total=self._total, completed=done)

    @property
    def _total(self) -> int:
        """Blocks of the planned rounds, and of those that were added since."""
        added = max(self._done - self._planned, 0)
        return self._planned + -(-added // self._variants) * self._variants if added else self._planned

    def block_started(self, block: Block) -> None:
        self._started_s = time.monotonic()
        self._bar.update(self._task, description=block.name)

    def _moved(self) -> float:
        if self._started_s is None:
            return 0.0
        usual_s = sum(self._took_s) / len(self._took_s) if self._took_s else None
        return share_of_block(time.monotonic() - self._started_s, usual_s)

    def block_retried(self, block: Block, reason: str) -> None:
        say(f"{block.name}: {reason}; trying again")

    def told(self, text: str) -> None:
        say(text)

    def variant_left_out(self, text: str, blocks: int) -> None:
        self._planned -= blocks
        self._variants -= 1
        say(text)

    def block_ended(self, result: BlockResult, left: TimeLeft | None = None) -> None:
        self._done += 1
        self._started_s = None
        self._took_s.append(result.duration_s)
        words = self._words(left)
        self._bar.update(self._task, total=self._total, completed=self._done, left=words)
        if not result.is_ok:
            say(f"block {result.index + 1} of {result.variant.stem} failed: {result.error}")
        elif not self._is_terminal:
            said = f"block {self._done} of {self._total}: {result.variant.stem}{self._median(result)}"
            say(f"{said}; {words}" if words else said)

    def _words(self, left: TimeLeft | None) -> str:
        added = "a round was added: an interval is still too wide" if self._done > self._planned else ""
        return "; ".join(filter(None, (added, _time_left(left) if left else "")))

    def _median(self, result: BlockResult) -> str:
        if not self._show_times:
            return f", {NO_TIMES}"
        times = sorted(result.latency_ns)
        return f", median {format_ns(times[len(times) // 2])}" if times else ""


def _time_left(left: TimeLeft) -> str:
    """Empty where nothing is left; two numbers where rounds may be added."""
    about, at_most = format_seconds(left.expected_s), format_seconds(left.at_most_s)
    if not left.at_most_s:
        return ""
    if not left.expected_s:
        return f"at most {at_most} left"
    return f"about {about} left" if about == at_most else f"about {about} left, at most {at_most}"


@contextmanager
def export_stages(title: str) -> Iterator[Callable[[str], None]]:
    """A line that names the running stage, on a descriptor of its own: the export takes over the usual two."""
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as stream:
        console = Console(file=stream, highlight=False)
        with console.status(escape(title), spinner="line") as status:
            yield lambda stage: status.update(escape(f"{title}: {stage}"))


@contextmanager
def timed_step(title: str) -> Iterator[None]:
    """Names a step as it begins, and how long it took once it has succeeded."""
    say(title)
    began_s = time.monotonic()
    yield
    say(f"  took {format_seconds(time.monotonic() - began_s)}")
