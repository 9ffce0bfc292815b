"""How a fleet's run goes on, in words, for callers that show or log them."""

from collections.abc import Callable

from etprof.core.fleet import FleetJob, JobProgress, JobResult


class FleetWords:
    """Observes a fleet's run."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.told = tell

    def started(self, job: FleetJob, device: str) -> None:
        self.told(f"{job.label} on {device}: started")

    def progressed(self, job: FleetJob, progress: JobProgress) -> None:
        self.told(f"{job.label} on {progress.device}: {progress.text}")

    def ended(self, result: JobResult) -> None:
        self.told(f"{result.job.label} on {result.device or 'any'}: {result.reason or 'arrived'}")
