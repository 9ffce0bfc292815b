"""A session on disk: manifest.json says what was run and where, metrics.json holds every block's raw result.

Both are written after every block, so that an interruption loses nothing that was measured.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from etprof.core.errors import StoreError
from etprof.core.run import Session
from etprof.store.json_file import read_json, write_json
from etprof.store.layout import MANIFEST, METRICS
from etprof.store.older_session import is_older_manifest, load_older_session

# 1: the first.
SCHEMA_VERSION = 1

_SESSION = TypeAdapter(Session)


def save_session(folder: Path, session: Session) -> None:
    portable = _with_plan_paths(session, lambda path: Path(os.path.relpath(path, folder)))
    fields: dict[str, Any] = _SESSION.dump_python(portable, mode="json")
    results = fields.pop("results")
    fields.pop("is_older")
    write_json(folder / METRICS, {"schema_version": SCHEMA_VERSION, "results": results})
    write_json(folder / MANIFEST, {"schema_version": SCHEMA_VERSION, **fields})


def has_session(folder: Path) -> bool:
    return (folder / MANIFEST).exists() or (folder / METRICS).exists()


def was_emulated(trace: Path) -> bool:
    """Whether a trace lies in the folder of a run on an emulated device, as its manifest says."""
    for folder in trace.absolute().parents[:2]:
        try:
            manifest = read_json(folder / MANIFEST)
        except StoreError:
            # There is none, or it is something else's: a trace may lie anywhere.
            continue
        device = manifest.get("device") if isinstance(manifest, dict) else None
        return isinstance(device, dict) and device.get("times_are_real") is False
    return False


def load_session(folder: Path) -> Session:
    """Reads a session back; its paths lead from the current directory again, wherever the folder was moved to."""
    hint = "Give the folder that holds manifest.json, such as out_<model>/runs/<platform>."
    if not has_session(folder) and any(folder.glob("*/*.etdump")):
        return load_older_session(folder, {})
    older = read_json(folder / MANIFEST, hint=hint)
    if is_older_manifest(older):
        return load_older_session(folder, older)
    manifest = _versioned(folder / MANIFEST, hint)
    metrics = _versioned(folder / METRICS, hint)
    try:
        session = _SESSION.validate_python({**manifest, "results": metrics.get("results")}, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{folder} does not hold a readable session: {where}: {first['msg']}.", hint=hint) from error
    return _with_plan_paths(session, lambda path: Path(os.path.normpath(folder / path)))


def _versioned(path: Path, hint: str) -> dict[str, Any]:
    value = read_json(path, hint=hint)
    version = value.get("schema_version") if isinstance(value, dict) else None
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} has schema version {version}; this etprof reads version {SCHEMA_VERSION}.",
            hint="Read it with the etprof that wrote it, or run the plan again.",
        )
    return {key: entry for key, entry in value.items() if key != "schema_version"}


def _with_plan_paths(session: Session, change: Callable[[Path], Path]) -> Session:
    plan = session.plan
    return replace(
        session,
        plan=replace(
            plan,
            model=change(plan.model),
            output_root=change(plan.output_root),
            inputs=tuple(change(p) for p in plan.inputs),
        ),
    )
