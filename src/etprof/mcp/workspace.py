"""The folder a guest may read and write in: every path it names, and every path its files name, must lie inside."""

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from etprof.core.confinement import confined_to
from etprof.core.errors import UsageError
from etprof.core.layout import EARLIER_RUNS, MANIFEST, METRICS, export_meta_path, graph_path
from etprof.core.regular_files import read_regular
from etprof.core.run import Session
from etprof.core.runtimes import TRACE_SUFFIXES
from etprof.core.workload import Workload
from etprof.export.meta import load_meta
from etprof.runner.build import cache_dir
from etprof.store.earlier_runs import StoredSession, list_earlier, list_joined
from etprof.store.session_file import load_session
from etprof.store.workload_file import load_workload


@dataclass(frozen=True)
class Workspace:
    """`root` has no symbolic link in it, and is the current directory: paths are relative to it."""

    root: Path

    def inside(self, path: str | Path) -> Path:
        """The path, relative to the root; refused where it leads out, by `..`, from the top or through a link."""
        try:
            real = (self.root / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(f"{str(path)!r} is not a path: {error}.") from error
        if not real.is_relative_to(self.root):
            raise UsageError(
                f"{path} lies outside of the workspace.",
                hint="Name a path inside; `etprof mcp --workspace DIR` says where that is.",
            )
        return real.relative_to(self.root)

    def confined(self) -> AbstractContextManager[None]:
        """Meanwhile no file outside is read or written, whatever is swapped for a link since a path was checked."""
        return confined_to(self.root, cache_dir(), Path(tempfile.gettempdir()))

    @contextmanager
    def private_copy(self, path: str) -> Iterator[Path]:
        """A file as it is now, for what opens files by their names: nothing can take the place of the copy."""
        inside = self.inside(path)
        with self.confined(), tempfile.TemporaryDirectory(prefix="etprof-copy-") as folder:
            copy = Path(folder) / inside.name
            try:
                copy.write_bytes(read_regular(inside))
            except OSError as error:
                raise UsageError(f"{path} cannot be read: {error.strerror}.", hint="Check the path.") from error
            yield copy

    def load_session(self, path: str) -> tuple[Path, Session]:
        """The folder of a finished run, of which no file leads out of the workspace, and the session in it."""
        folder = self.inside(path)
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}.", hint="Give one with manifest.json in it.")
        for file in _list_read(folder):
            self.inside(file)
        session = load_session(folder)
        # Earlier runs of the folder may be a part of its analysis.
        earlier = () if session.is_older else (*list_joined(folder), *list_earlier(folder))
        for stored in (StoredSession(folder, session), *earlier):
            for file in _files_of(stored.session, stored.folder):
                self.inside(file)
        return folder, session

    def target_folder(self, path: str | Path) -> Path:
        """A folder to write to, which need not be there; nothing in it leads out of the workspace."""
        folder = self.inside(path)
        for entry in folder.rglob("*"):
            self.inside(entry)
        return folder

    def load_workload(self, path: str) -> Workload:
        """A workload of which no file leads out of the workspace."""
        workload = load_workload(self.inside(path))
        for file in workload.files:
            self.inside(file)
        return workload

    def model_file(self, path: str) -> Path:
        """A .pte of which no side file leads out of the workspace."""
        model = self.inside(path)
        if not model.is_file():
            raise UsageError(f"There is no model {model}.", hint="Export one first.")
        for file in (export_meta_path(model), graph_path(model)):
            self.inside(file)
        meta = load_meta(model)
        for method in meta.all_methods if meta else ():
            for entry in (*method.inputs, *method.reference):
                self.inside(model.parent / entry.file)
        return model


def _list_read(folder: Path) -> list[Path]:
    """What may be read of a run's folder, whatever its session names."""
    try:
        sessions = (folder / MANIFEST, folder / METRICS, *folder.glob("manifest.*"), *folder.glob("metrics.*"))
        traces = (path for path in folder.glob("*/*") if path.suffix in TRACE_SUFFIXES)
        return [*sessions, *traces, *folder.glob(f"{EARLIER_RUNS}/*/*")]
    except OSError as error:
        raise UsageError(f"{folder} changes while it is read: {error.strerror}.", hint="Try again.") from error


def _files_of(session: Session, folder: Path) -> Iterator[Path]:
    """Every file an analysis of the session opens; a run that was moved has no graph and no model where it says."""
    for each in session.programs:
        sources = (graph_path(each.program.model), each.program.model)
        yield from [path for path in sources if path.exists()][:1]
        yield from (folder / output.file for output in each.reference)
    for result in session.results:
        names = (result.etdump, result.samples, result.steps, *(output.file for output in result.outputs))
        yield from (folder / name for name in names if name)
