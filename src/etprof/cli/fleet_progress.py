"""What is shown while a fleet runs: a live table on a terminal, a line for each change elsewhere."""

from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from etprof.cli.console import say
from etprof.core.fleet import FleetJob, JobProgress, JobResult
from etprof.core.units import format_count, format_seconds

_PER_SECOND = 4


class FleetProgress:
    """Observes a fleet's run. Use as a context manager, so that the terminal is left as it was."""

    def __init__(self, out: Path) -> None:
        self._out = out
        console = Console(stderr=True)
        self._is_terminal = console.is_terminal
        self._running: dict[str, tuple[FleetJob, JobProgress]] = {}
        self._arrived = self._missing = 0
        # While the table is there, rich puts what others write to standard error above it.
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=_PER_SECOND, transient=True)

    def __enter__(self) -> "FleetProgress":
        if self._is_terminal:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if self._is_terminal:
            self._live.stop()
        if kind is KeyboardInterrupt:
            say(f"interrupted: devices are left clean, what has arrived is kept; --resume --out {self._out} goes on")

    def started(self, job: FleetJob, device: str) -> None:
        # A job is sent again once its files are there.
        if self._running.get(device, (None,))[0] != job:
            self._say(f"{job.label} on {device}: started")
        self._running[device] = job, JobProgress("", device, "starting")

    def progressed(self, job: FleetJob, progress: JobProgress) -> None:
        before = self._running.get(progress.device)
        self._running[progress.device] = job, progress
        if before is None or progress.done > before[1].done:
            self._say(f"{job.label} on {progress.device}: {_describe(progress)}")

    def ended(self, result: JobResult) -> None:
        self._running = {device: each for device, each in self._running.items() if each[0].id != result.job.id}
        if not result.job.is_export:
            self._arrived += result.has_arrived
            self._missing += not result.has_arrived
        self._say(f"{result.job.label} on {result.device or 'any'}: {result.reason or 'arrived'}")

    def told(self, text: str) -> None:
        say(text)

    def _say(self, text: str) -> None:
        if not self._is_terminal:
            say(text)

    def _draw(self) -> Table:
        missing = f", {self._missing} without" if self._missing else ""
        table = Table(title=f"{format_count(self._arrived, 'run')} arrived{missing}", title_justify="left")
        for heading in ("device", "plan", "block", "done", "time left"):
            table.add_column(heading)
        for device, (job, progress) in sorted(self._running.items()):
            done = f"{progress.done} of {progress.total}" if progress.total else ""
            left = "" if progress.left_s is None else format_seconds(progress.left_s)
            table.add_row(*(Text(cell) for cell in (device, job.label, progress.text, done, left)))
        return table


def _describe(progress: JobProgress) -> str:
    total = f" of {progress.total}" if progress.total else ""
    left = "" if progress.left_s is None else f"; about {format_seconds(progress.left_s)} left"
    return f"block {progress.done}{total}, {progress.text}{left}"
