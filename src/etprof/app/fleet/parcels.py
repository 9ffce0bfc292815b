"""What a plan needs on another machine: its files by their digests, and its paths there and back."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.core.fleet import FileToSend
from etprof.core.layout import etrecord_path, export_debug_path, export_log_path
from etprof.core.plan import Plan
from etprof.core.regular_files import open_regular
from etprof.core.run import Session
from etprof.store.paths import reason_of, require_file
from etprof.store.plan_paths import change_plan_paths, change_session_paths

# Below the folder of a job on a worker.
RUN, FILES = "run", "files"


@dataclass(frozen=True)
class Parcel:
    """`plan` has paths below a job's folder; `places` leads from those to the files here."""

    plan: Plan
    files: tuple[FileToSend, ...]
    places: Mapping[str, Path]
    source: Path | None = None

    @property
    def work(self) -> Plan:
        return self.plan

    @cached_property
    def sources(self) -> dict[str, Path]:
        """The files here, by their digests."""
        return {file.sha256: self.places[file.place] for file in self.files}

    @cached_property
    def digest(self) -> str:
        """Of the plan and of every file it needs."""
        return sha256(repr((self.plan, self.files)).encode()).hexdigest()

    def bring_home(self, session: Session, job_folder: Path, output_root: Path) -> Session:
        """The session with the paths of this machine: it was loaded from the folder `run` of `job_folder`."""

        def change(path: Path) -> Path:
            return self.places.get(os.path.relpath(path, job_folder), path)

        moved = change_session_paths(session, change)
        return replace(moved, plan_path=self.source, plan=replace(moved.plan, output_root=output_root))


def build_parcel(plan: Plan, source: Path | None = None) -> Parcel:
    """`source` is the file that the plan was read from."""
    folders: dict[Path, int] = {}
    places: dict[str, Path] = {}
    programs = {e.runner_path for e in plan.experiments if e.runner_path}

    def place(path: Path) -> Path:
        full = path.absolute()
        there = f"{FILES}/{folders.setdefault(full.parent, len(folders))}/{full.name}"
        places[there] = full
        return Path(there)

    moved = change_plan_paths(plan, lambda path: Path(RUN) if path == plan.output_root else place(path))
    for path in _list_companions(plan):
        place(path)
    executed = {place(path) for path in programs}
    files = tuple(
        FileToSend(there, *identify(path), is_program=Path(there) in executed) for there, path in sorted(places.items())
    )
    return Parcel(moved, files, places, source)


def identify(path: Path) -> tuple[str, int]:
    """Digest and size."""
    try:
        with open_regular(path) as file:
            return file_digest(file, "sha256").hexdigest(), path.stat().st_size
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {reason_of(error)}.", hint="Check the path.") from error


def _list_companions(plan: Plan) -> Iterator[Path]:
    """Files that are not named in a plan, but belong to those that are: of an export, and of a runner."""
    models = {plan.model, *(e.model for e in plan.experiments if e.model)}
    for model in sorted(models):
        require_file(model, "model", hint="Export it first: `etprof export MODEL`.")
        # Of these an analysis has use, and it is made here.
        unused = {etrecord_path(model), export_log_path(model), export_debug_path(model)}
        yield from (path for path in model.parent.glob(f"{model.stem}.*") if path.is_file() and path not in unused)
    for path in {e.runner_path for e in plan.experiments if e.runner_path}:
        require_file(path, "runner", hint="Omit `runner_path`: our own runner is used.")
        yield from path.parent.glob("*.so*")
    for path in (*plan.inputs, *(each for e in plan.experiments for each in e.inputs)):
        if not path.is_file():
            raise UsageError(f"There is no input file {path}.", hint="Export the model again.")
