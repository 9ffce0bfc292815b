"""Plans on many devices from beginning to end: jobs are made or taken up again, run, gathered and put on one page."""

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from etprof.app.fleet.arrivals import take_in
from etprof.app.fleet.asked_plans import AskedPlan, NamedExports, read_plans
from etprof.app.fleet.cluster import SILENCE_S, Cluster, SchedulerLostError, connected
from etprof.app.fleet.dispatch import ABSENCE_S, Dispatcher, FleetObserver, TakeIn, is_wanted
from etprof.app.fleet.exports import Exporting
from etprof.app.fleet.parcels import Parcel
from etprof.app.history import add_runs
from etprof.app.reporting import build_combined
from etprof.core.errors import DeviceError, UsageError
from etprof.core.fleet import FleetDevice, FleetJob, JobAnswer, JobResult
from etprof.core.label_expression import LabelExpression, parse_labels
from etprof.core.units import format_count
from etprof.reports.combined import CombinedReport, render_html
from etprof.store.fleet_file import (
    StoredFleet,
    StoredJob,
    has_fleet,
    load_fleet,
    refuse_other_plans,
    save_fleet,
)
from etprof.store.history_file import add_rows
from etprof.store.json_file import write_text
from etprof.store.paths import check_inside, make_folder
from etprof.store.run_lock import hold_run_folder
from etprof.store.session_file import has_session

PAGE = "combined_report.html"
_LOOK_EVERY_S = 1.0
_MOST_REPEATS = 10_000


@dataclass(frozen=True)
class FleetRequest:
    """`on` chooses devices by their labels; each plan runs on each of them, or with `anywhere` on any one.

    `wait` is for a device that is not there, or not any more; `resume` goes on with what is in `out`. `named` is how
    models are exported that are given by their names.
    """

    out: Path
    scheduler: str = ""
    on: str = ""
    anywhere: bool = False
    repeat: int = 1
    wait: bool = False
    resume: bool = False
    history: Path | None = None
    commit: str = ""
    command: str = ""
    named: NamedExports = field(default_factory=NamedExports)
    absence_s: float = ABSENCE_S
    silence_s: float = SILENCE_S


@dataclass(frozen=True)
class FleetOutcome:
    """`page` is the combined report, None where no run has arrived; `set_aside` are devices with why."""

    results: tuple[JobResult, ...]
    folders: tuple[Path, ...]
    set_aside: Mapping[str, str] = field(default_factory=dict)
    page: Path | None = None
    report: CombinedReport | None = None

    @property
    def is_complete(self) -> bool:
        return all(result.has_arrived and not result.failed_blocks for result in self.results)


def default_folder() -> Path:
    return Path(f"fleet_{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}")


def list_devices(scheduler: str = "", on: str = "", *, exports: bool = False) -> list[FleetDevice]:
    """The devices that are offered, or with `exports` the workers that export models."""
    wanted = parse_labels(on)
    with connected(scheduler) as cluster:
        offered = cluster.list_devices(now=True, exports=exports)
    return [device for device in offered if wanted.matches({*device.labels, device.name})]


@dataclass(frozen=True)
class Gathering:
    """How jobs ended; `lost` is why some did not, where the scheduler was lost on the way."""

    jobs: tuple[FleetJob, ...]
    results: Mapping[str, JobResult]
    set_aside: Mapping[str, str]
    lost: SchedulerLostError | None = None


def run_fleet(plans: Sequence[Path], request: FleetRequest, observer: FleetObserver) -> FleetOutcome:
    """Runs plans on devices of a fleet; what arrives is kept, also where the scheduler is lost on the way."""
    if request.history:
        # That it cannot be written should be known before hours are spent.
        add_rows(request.history, [])
    gathered = gather_runs(plans, request, observer)
    # Not before: devices of this machine may have been measuring.
    outcome = _analyze(gathered, request)
    if gathered.lost:
        arrived = f"{len(outcome.folders)} of {len(gathered.jobs)} runs have arrived in {request.out}."
        raise SchedulerLostError(
            f"{gathered.lost.message} {arrived}",
            hint=f"Start it again; then `etprof fleet run` with --resume --out {request.out} goes on.",
        )
    return outcome


def gather_runs(plans: Sequence[Path], request: FleetRequest, observer: FleetObserver) -> Gathering:
    """The part of it that needs the fleet."""
    wanted = parse_labels(request.on)
    if not 1 <= request.repeat <= _MOST_REPEATS:
        raise UsageError(f"repeat is {request.repeat}.", hint=f"From 1 to {_MOST_REPEATS}.")
    if has_fleet(request.out) and not request.resume:
        raise UsageError(
            f"{request.out} already holds the runs of a fleet.",
            hint="Add --resume to go on, or choose another folder with --out.",
        )
    if request.resume and not has_fleet(request.out):
        raise UsageError(f"{request.out} holds no runs of a fleet to go on with.", hint="Name their folder with --out.")
    asked = read_plans(plans, request.named)
    exports = [export for each in asked for export in each.exports.values()]
    parcels: dict[str, Parcel] = {}
    lost = None
    with connected(request.scheduler, request.silence_s) as cluster, _reserved(request.out):
        exporting = Exporting(cluster, request.out, observer, request.command, request.wait, request.absence_s)
        exporting.require_worker(exports)
        jobs = _make_jobs(asked, request, wanted, cluster, observer)
        dispatcher = Dispatcher(
            cluster, parcels, wanted, observer, _put_below(request.out, parcels), request.command,
            waits=request.wait, absence_s=request.absence_s,
        )  # fmt: skip
        remaining = [job for job in jobs if not has_session(request.out / job.folder)]
        try:
            # Exports come first: on the same machine they would disturb the measurements.
            made = exporting.make(exports)
            packed = {each.name: each.pack(made) for each in asked}
            parcels |= {name: parcel for name, parcel in packed.items() if isinstance(parcel, Parcel)}
            _end_without_export(dispatcher, remaining, packed)
            dispatcher.run(job for job in remaining if job.plan_name in parcels)
        except SchedulerLostError as error:
            lost = error
    return Gathering(tuple(jobs), dispatcher.results, dispatcher.set_aside, lost)


def _end_without_export(dispatcher: Dispatcher, jobs: Iterable[FleetJob], packed: Mapping[str, Parcel | str]) -> None:
    for job in jobs:
        if isinstance(reason := packed[job.plan_name], str):
            dispatcher.end(JobResult(job, job.device, reason))


@contextmanager
def _reserved(out: Path) -> Iterator[None]:
    """Two that gather into one folder would commit the same jobs."""
    make_folder(out)
    with hold_run_folder(out):
        yield


def _analyze(gathered: Gathering, request: FleetRequest) -> FleetOutcome:
    """What has arrived, in the history and on one page."""
    arrived = [job for job in gathered.jobs if has_session(request.out / job.folder)]
    folders = tuple(request.out / job.folder for job in arrived)
    known = {job.id: JobResult(job, job.device) for job in arrived} | dict(gathered.results)
    results = tuple(known[job.id] for job in gathered.jobs if job.id in known)
    if not folders:
        return FleetOutcome(results, (), gathered.set_aside)
    if request.history:
        add_runs(request.history, folders, commit=request.commit)
    report = build_combined(folders, f"{format_count(len(folders), 'run')} of a fleet")
    write_text(request.out / PAGE, render_html(report))
    return FleetOutcome(results, folders, gathered.set_aside, request.out / PAGE, report)


def _put_below(out: Path, parcels: Mapping[str, Parcel]) -> TakeIn:
    def put(job: FleetJob, device: FleetDevice, answer: JobAnswer, parts: Iterable[bytes]) -> int:
        target = out / job.folder
        check_inside(target.parent, out)
        return take_in(parcels[job.plan_name], target, device, answer, parts)

    return put


def _make_jobs(
    asked: Sequence[AskedPlan], request: FleetRequest, wanted: LabelExpression, cluster: Cluster,
    observer: FleetObserver,
) -> list[FleetJob]:  # fmt: skip
    digests = [each.digest for each in asked]
    if has_fleet(request.out):
        fleet = load_fleet(request.out)
        refuse_other_plans(fleet, digests, request.out)
    else:
        devices = _find_devices(cluster, wanted, observer, wait=request.wait)
        names = [""] if request.anywhere else [device.name for device in devices]
        stored = tuple(
            StoredJob(secrets.token_hex(16), plan, device, number, _folder_of(each.name, device, number))
            for number in range(1, request.repeat + 1)
            for plan, each in enumerate(asked)
            for device in names
        )
        now = datetime.now(UTC).isoformat(timespec="seconds")
        fleet = StoredFleet(secrets.token_hex(8), now, request.command, request.on, tuple(digests), stored)
        save_fleet(request.out, fleet)
    return [FleetJob(job.id, asked[job.plan].name, job.device, job.number, job.folder) for job in fleet.jobs]


def _folder_of(plan: str, device: str, number: int) -> str:
    name = "".join(c if c.isalnum() or c in ".-@" else "_" for c in device) or "run"
    return f"{plan}/{name}" if number == 1 else f"{plan}/{name}_{number}"


def _find_devices(
    cluster: Cluster, wanted: LabelExpression, observer: FleetObserver, *, wait: bool
) -> list[FleetDevice]:
    has_told = False
    while True:
        offered = cluster.list_devices(now=True)
        if devices := [device for device in offered if is_wanted(device, wanted)]:
            return devices
        if not wait:
            raise _no_device(wanted, offered)
        if not has_told:
            observer.told(f"No device matches {wanted.text!r} yet: waiting for one.")
        has_told = True
        time.sleep(_LOOK_EVERY_S)


def _no_device(wanted: LabelExpression, offered: Sequence[FleetDevice]) -> DeviceError:
    if not offered:
        return DeviceError(
            "No worker offers a device.", hint="Add --wait, or start one: `etprof fleet worker --device DEVICE`."
        )
    unlike = [device.name for device in offered if wanted.matches({*device.labels, device.name})]
    if unlike:
        return DeviceError(
            f"{', '.join(unlike)} would match, but another version of etprof offers it.",
            hint="Install the same version there.",
        )
    labels = sorted({label for device in offered for label in device.labels})
    missing = [label for label in sorted(wanted.labels) if label not in labels]
    said = f" No device has the label {missing[0]}." if missing else ""
    return DeviceError(f"No device matches {wanted.text!r}.{said}", hint=f"Labels: {', '.join(labels)}.")
