"""A session on disk: manifest.json says what was run and where, metrics.json holds every block's raw result.

Both are written after every block, so that an interruption loses nothing that was measured.
"""

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etprof.core.errors import StoreError
from etprof.core.layout import MANIFEST, METRICS, session_names
from etprof.core.run import Session
from etprof.store.json_file import read_json, write_json
from etprof.store.older_session import is_older_manifest, load_older_session
from etprof.store.plan_paths import change_session_paths
from etprof.store.session_rules import check_session
from etprof.store.upgrades import SCHEMA_VERSION, upgrade

# Whoever reads a trace asks here whether its device was emulated, and should not wait for pydantic.
if TYPE_CHECKING:
    from pydantic import TypeAdapter

_HINT = "Give the folder that holds manifest.json, such as out_<model>/runs/<platform>."


@cache
def _adapter() -> "TypeAdapter[Session]":
    from pydantic import TypeAdapter

    return TypeAdapter(Session)


def save_session(folder: Path, session: Session) -> None:
    """Each file is on the disk before the next is begun: whatever ends the process, the last save can be read."""
    manifest, results = _dump(folder, session)
    contents = {METRICS: {"schema_version": SCHEMA_VERSION, "results": results}, MANIFEST: manifest}
    # A manifest alone is a run that has just begun; metrics alone would be nothing.
    for name in contents if has_session(folder) else reversed(contents):
        write_json(folder / name, contents[name], durable=True)


def save_reports(folder: Path, session: Session, reports: tuple[str, ...]) -> Session:
    """Notes in the manifest which report files were written; what was measured is not touched."""
    if reports == session.reports or session.is_older:
        return session
    noted = replace(session, reports=reports)
    save_manifest(folder, noted)
    return noted


def save_manifest(folder: Path, session: Session) -> None:
    """Writes what was run and where; the results beside it stay as they are."""
    write_json(folder / MANIFEST, _dump(folder, session)[0], durable=True)


def _dump(folder: Path, session: Session) -> tuple[dict[str, Any], Any]:
    """The manifest, and the results, which are a file of their own."""
    portable = change_session_paths(session, lambda path: Path(os.path.relpath(path, folder)))
    fields: dict[str, Any] = _adapter().dump_python(portable, mode="json")
    results = fields.pop("results")
    fields.pop("is_older")
    return {"schema_version": SCHEMA_VERSION, **fields}, results


def has_session(folder: Path) -> bool:
    return (folder / MANIFEST).exists() or (folder / METRICS).exists()


def load_session(folder: Path, stamp: str = "") -> Session:
    """Reads a session back; its paths lead from the current directory again, wherever the folder was moved to.

    Without a `stamp` it is the newest of the folder.
    """
    from pydantic import ValidationError

    if not stamp and not has_session(folder) and _glob(folder, "*/*.etdump"):
        return load_older_session(folder, {})
    manifest_path, metrics_path = (folder / name for name in session_names(stamp))
    manifest = read_json(manifest_path, hint=_HINT if manifest_path.is_file() else _find_runs(folder) or _HINT)
    if is_older_manifest(manifest):
        return load_older_session(folder, manifest)
    metrics = _read_metrics(metrics_path, manifest)
    versions = _version_of(manifest, manifest_path), _version_of(metrics, metrics_path)
    try:
        upgrade(manifest, metrics, versions)
    except (LookupError, TypeError) as error:
        raise StoreError(f"{folder} does not hold a readable session of its version.", hint=_HINT) from error
    try:
        session = _adapter().validate_python({**manifest, "results": metrics.get("results")}, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{folder} does not hold a readable session: {where}: {first['msg']}.", hint=_HINT) from error
    check_session(session, str(folder))
    return change_session_paths(session, lambda path: Path(os.path.normpath(folder / path)))


def _read_metrics(path: Path, manifest: Any) -> Any:
    """The results; none where a run ended between its first two files."""
    has_begun = isinstance(manifest, dict) and manifest.get("stop_reason") == ""
    if has_begun and not os.path.lexists(path):
        return {"schema_version": manifest.get("schema_version"), "results": []}
    return read_json(path, hint=_HINT)


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError as error:
        raise StoreError(f"{folder} changes while it is read: {error.strerror}.", hint="Try again.") from error


def find_runs_beside(folder: Path) -> str:
    """Where the runs are that may have been meant by a folder that is not there, as a sentence."""
    return _list_runs("Runs beside it", [path.parent for path in _glob(folder.parent, f"*/{MANIFEST}")])


def _list_runs(what: str, runs: list[Path]) -> str:
    return f"{what}: {', '.join(map(str, runs[:3]))}{', ...' if len(runs) > 3 else '.'}" if runs else ""


def _find_runs(folder: Path) -> str:
    """Where the runs are that were meant, as a sentence: below the folder, or around it."""
    below = [path.parent for depth in ("*", "*/*", "*/*/*") for path in _glob(folder, f"{depth}/{MANIFEST}")]
    if below:
        return _list_runs("Runs below it", below)
    around = [each for each in list(folder.parents)[:2] if (each / MANIFEST).is_file()]
    return f"It lies in the run {around[0]}." if around else ""


def _version_of(value: Any, path: Path) -> int:
    version = value.get("schema_version") if isinstance(value, dict) else None
    if not isinstance(version, int) or not 1 <= version <= SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}; this etprof reads versions 1 to {SCHEMA_VERSION}.",
            hint="Read it with the etprof that wrote it, or run the plan again.",
        )
    return version
