"""The folder a guest may read and write in: every path it names, and every path its files name, must lie inside."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from etprof.core.errors import UsageError
from etprof.core.layout import MANIFEST, METRICS, export_meta_path, graph_path
from etprof.core.run import Session
from etprof.export.meta import load_meta
from etprof.store.session_file import load_session


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

    def load_session(self, path: str) -> tuple[Path, Session]:
        """The folder of a finished run, of which no file leads out of the workspace, and the session in it."""
        folder = self.inside(path)
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}.", hint="Give one with manifest.json in it.")
        for file in (folder / MANIFEST, folder / METRICS, *folder.glob("*/*.etdump")):
            self.inside(file)
        session = load_session(folder)
        for file in _files_of(session, folder):
            self.inside(file)
        return folder, session

    def target_folder(self, path: str | Path) -> Path:
        """A folder to write to, which need not be there; nothing in it leads out of the workspace."""
        folder = self.inside(path)
        for entry in folder.rglob("*"):
            self.inside(entry)
        return folder

    def model_file(self, path: str) -> Path:
        """A .pte of which no side file leads out of the workspace."""
        model = self.inside(path)
        if not model.is_file():
            raise UsageError(f"There is no model {model}.", hint="Export one first.")
        for file in (export_meta_path(model), graph_path(model)):
            self.inside(file)
        meta = load_meta(model)
        for entry in meta.inputs if meta else ():
            self.inside(model.parent / entry.file)
        return model


def _files_of(session: Session, folder: Path) -> Iterator[Path]:
    """Every file an analysis of the session opens; a run that was moved has no graph where it says."""
    if graph_path(session.plan.model).exists():
        yield graph_path(session.plan.model)
    for result in session.results:
        names = (result.etdump, result.samples, *(output.file for output in result.outputs))
        yield from (folder / name for name in names if name)
