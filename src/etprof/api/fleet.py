"""Many devices from Python: the same list and runs as `etprof fleet`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from etprof.api import StrPath
from etprof.api.runs import Run, load_run
from etprof.api.tables import Table, build_table
from etprof.app.fleet.asked_plans import NamedExports
from etprof.app.fleet.runs import FleetRequest, default_folder, list_devices, run_fleet
from etprof.app.fleet.words import FleetWords
from etprof.reports.device_gains import DeviceGain

_COLUMNS = ("device", "busy", "labels", "about")
_GAINS = (
    "model", "extension", "threads", "device", "runs", "without_ms", "with_ms", "speedup", "low", "high", "verdict",
)  # fmt: skip


@dataclass(frozen=True)
class FleetRuns:
    """Runs that a fleet gave: `missing` has those that did not arrive, with why; `page` is the combined report."""

    runs: tuple[Run, ...]
    missing: Table
    gains: Table
    page: Path | None

    def _repr_html_(self) -> str:
        return self.gains._repr_html_()


class Fleet:
    """The devices that workers offer to a scheduler; without an address it is that of Dask's settings."""

    def __init__(self, scheduler: str = "") -> None:
        self.scheduler = scheduler

    def devices(self, on: str = "") -> Table:
        """A row for each device, or for each that has these labels, such as "sme2 and android"."""
        found = list_devices(self.scheduler, on)
        rows = [(d.name, bool(d.busy), " ".join(sorted(d.labels)), d.trouble or d.facts) for d in found]
        return build_table(_COLUMNS, rows)

    def run(
        self,
        *plans: StrPath,
        on: str = "",
        anywhere: bool = False,
        repeat: int = 1,
        dtype: str = "",
        quantize: bool = False,
        models_dir: StrPath | None = None,
        out: StrPath | None = None,
        wait: bool = False,
        resume: bool = False,
        history: StrPath | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> FleetRuns:
        """Runs plans, or profiles models, on each device that matches, or with `anywhere` on any one.

        A model is a .pte, or a name: a worker exports it first, in this `dtype` or quantised.

        The options are those of `etprof fleet run`; `progress` is called with a few words whenever something happens.
        """
        names = ", ".join(repr(Path(plan).name) for plan in plans)
        request = FleetRequest(
            out=Path(out) if out is not None else default_folder(),
            scheduler=self.scheduler,
            on=on,
            anywhere=anywhere,
            repeat=repeat,
            wait=wait,
            resume=resume,
            history=Path(history) if history is not None else None,
            command=f"etprof.Fleet().run({names})",
            named=NamedExports(dtype, quantize, Path(models_dir) if models_dir is not None else None),
        )
        outcome = run_fleet([Path(plan) for plan in plans], request, FleetWords(progress or (lambda _: None)))
        missing = [(r.job.plan_name, r.device, r.reason) for r in outcome.results if not r.has_arrived]
        return FleetRuns(
            runs=tuple(load_run(folder) for folder in outcome.folders),
            missing=build_table(("plan", "device", "reason"), missing),
            gains=_build_gains(outcome.report.gains if outcome.report else ()),
            page=outcome.page,
        )

    def __repr__(self) -> str:
        return f"<Fleet {self.scheduler}>" if self.scheduler else "<Fleet>"


def _build_gains(gains: Sequence[DeviceGain]) -> Table:
    """What an extension changes on each device, the largest gain first."""
    rows = []
    for gain in gains:
        speedup = (gain.speedup.value, gain.speedup.low, gain.speedup.high) if gain.speedup else (None, None, None)
        times = (gain.baseline_ms, gain.candidate_ms)
        rows.append((gain.model, gain.extension, gain.threads, gain.device, gain.runs, *times, *speedup, gain.verdict))
    return build_table(_GAINS, rows)
