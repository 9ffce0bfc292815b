"""Models of plans that are not exported yet: each is exported once, on a worker that exports, and brought here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from etprof.app.fleet.arrivals import put_in_place, unpacked_beside
from etprof.app.fleet.cluster import Cluster
from etprof.app.fleet.dispatch import Dispatcher, FleetObserver, TakeIn, is_wanted
from etprof.app.fleet.parcels import identify
from etprof.core.errors import DeviceError, StoreError
from etprof.core.fleet import FileToSend, FleetDevice, FleetJob, JobAnswer
from etprof.core.label_expression import parse_labels
from etprof.core.layout import export_meta_path
from etprof.export.meta import is_intact, load_meta
from etprof.export.registry import DEFAULT_MODELS_DIR, find_models_dir
from etprof.export.request import ExportRequest
from etprof.export.shipped_models import shipped_models
from etprof.store.paths import check_inside

# Below the folder of the whole.
EXPORTS = "exports"


@dataclass(frozen=True)
class ExportParcel:
    """An export with the user's own models, which lie in the job's folder as they do where an export is made here."""

    work: ExportRequest
    files: tuple[FileToSend, ...]
    places: Mapping[str, Path]

    @cached_property
    def sources(self) -> dict[str, Path]:
        return {file.sha256: self.places[file.place] for file in self.files}

    @property
    def id(self) -> str:
        """The same for who asks for the same: a worker that has made it does not make it again."""
        return sha256(repr((self.work.settings(), self.files)).encode()).hexdigest()


@dataclass(frozen=True)
class Exporting:
    """Where exports go and who is told; `waits` and `absence_s` are those of the runs."""

    cluster: Cluster
    out: Path
    observer: FleetObserver
    command: str
    waits: bool
    absence_s: float

    def require_worker(self, requests: Iterable[ExportRequest]) -> None:
        """Refuses, before anything is begun, exports that nobody would make."""
        absent = self._list_absent(requests)
        if not absent or self.waits or any(is_wanted(each, _ANY) for each in self._list_workers()):
            return
        raise DeviceError(
            f"{absent[0].model} has to be exported, and no worker with this version of etprof exports models.",
            hint=f"Start one: `etprof fleet worker --exports`; or export it here: `etprof export {absent[0].model}`.",
        )

    def make(self, requests: Iterable[ExportRequest]) -> dict[ExportRequest, Path | str]:
        """Of each the file, or why there is none. What is there from an earlier attempt is used as it is."""
        wanted = tuple(dict.fromkeys(requests))
        failed = self._make_absent(self._list_absent(wanted))
        return {each: failed.get(each) or find_exported(self.out, each) for each in wanted}

    def _make_absent(self, absent: Sequence[ExportRequest]) -> dict[ExportRequest, str]:
        parcels = {each: build_export_parcel(each) for each in absent}
        jobs = {
            each: FleetJob(parcel.id, f"export of {each.stem}", "", 1, f"{EXPORTS}/{each.stem}", is_export=True)
            for each, parcel in parcels.items()
        }
        named = {job.plan_name: parcels[each] for each, job in jobs.items()}
        dispatcher = Dispatcher(
            self.cluster, named, _ANY, self.observer, _put_below(self.out), self.command,
            waits=self.waits, absence_s=self.absence_s, exports=True,
        )  # fmt: skip
        results = dispatcher.run(jobs.values())
        return {each: f"{job.plan_name}: {why}" for each, job in jobs.items() if (why := results[job.id].reason)}

    def _list_absent(self, requests: Iterable[ExportRequest]) -> list[ExportRequest]:
        return [each for each in dict.fromkeys(requests) if not _is_there(find_exported(self.out, each).parent)]

    def _list_workers(self) -> list[FleetDevice]:
        return self.cluster.list_devices(now=True, exports=True)


_ANY = parse_labels("")


def find_exported(out: Path, request: ExportRequest) -> Path:
    """Where an export is, or would be."""
    return out / EXPORTS / request.stem / f"{request.stem}.pte"


def build_export_parcel(request: ExportRequest) -> ExportParcel:
    """A model that comes with etprof or ExecuTorch is there, too; of all others the whole folder is sent."""
    is_shipped = request.model in {entry.name for entry in shipped_models()}
    folder = None if is_shipped else find_models_dir(request.models_dir)
    paths = sorted(folder.rglob("*")) if folder else []
    places = {
        (DEFAULT_MODELS_DIR / path.relative_to(folder)).as_posix(): path
        for path in paths
        if folder and path.is_file() and "__pycache__" not in path.parts
    }
    files = tuple(FileToSend(place, *identify(path)) for place, path in places.items())
    return ExportParcel(replace(request, models_dir=None), files, places)


def _put_below(out: Path) -> TakeIn:
    def put(job: FleetJob, _device: FleetDevice, answer: JobAnswer, parts: Iterable[bytes]) -> int:
        target = out / job.folder
        check_inside(target.parent, out)
        with unpacked_beside(target, answer, parts) as received:
            meta = load_meta(received / f"{target.name}.pte")
            if meta is None or not is_intact(received, meta):
                raise StoreError("An export arrived that is not whole.", hint="Run the plans again.")
            put_in_place(received, target, _is_there)
        return 0

    return put


def _is_there(folder: Path) -> bool:
    return export_meta_path(folder / f"{folder.name}.pte").is_file()
