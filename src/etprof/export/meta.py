"""export_meta.json: every fact about an export, and whether a file that is there already answers a request."""

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import etprof
from etprof.core.model import Artifact
from etprof.export.request import ExportRequest, content_digest

# 1  first version
SCHEMA_VERSION = 1


def meta_path(request: ExportRequest, folder: Path) -> Path:
    return folder / f"{request.stem}.export_meta.json"


def build_meta(request: ExportRequest, facts: Mapping[str, Any]) -> dict[str, Any]:
    quantization = request.settings()["quantization"]
    return {
        "schema_version": SCHEMA_VERSION,
        "model": request.model,
        "backend": request.backend,
        "dtype": request.dtype,
        "precision": request.precision,
        "quantization": quantization,
        "seed": request.seed,
        "etprof_version": etprof.__version__,
        "created_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **facts,
        "settings": dict(request.settings()),
    }


def save_meta(meta: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(meta, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def find_reusable(request: ExportRequest, source_sha256: str, versions: Mapping[str, str | None]) -> Artifact | None:
    """The artifact in the folder, when it is what this request would make: same settings, code, versions and bytes."""
    path = meta_path(request, request.folder)
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    try:
        same = (
            meta["schema_version"] == SCHEMA_VERSION
            and meta["etprof_version"] == etprof.__version__
            and meta["settings"] == dict(request.settings())
            and meta["model_source"]["sha256"] == source_sha256
            and meta["versions"] == dict(versions)
            and (meta["graph"] is not None or not request.save_graph)
        )
        if not same or not _is_intact(request.folder, meta) or not _is_good_enough(request, meta):
            return None
    except (KeyError, TypeError):
        return None
    return artifact_of(request.folder, meta, path, reused=True)


def _is_intact(folder: Path, meta: Mapping[str, Any]) -> bool:
    files = [meta["pte"], *meta["inputs"], *([meta["graph"]] if meta.get("graph") else []), meta["etrecord"]]
    return all((folder / f["file"]).is_file() and content_digest(folder / f["file"]) == f["sha256"] for f in files)


def _is_good_enough(request: ExportRequest, meta: Mapping[str, Any]) -> bool:
    worst = meta["numerics"]["worst_snr_db"]
    return worst is None or worst >= request.floor_db


def artifact_of(folder: Path, meta: Mapping[str, Any], path: Path, *, reused: bool = False) -> Artifact:
    return Artifact(
        pte=folder / meta["pte"]["file"],
        etrecord=folder / meta["etrecord"]["file"],
        meta_path=path,
        inputs=tuple(folder / each["file"] for each in meta["inputs"]),
        meta=meta,
        reused=reused,
    )
