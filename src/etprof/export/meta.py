"""export_meta.json: every fact about an export, and whether a file that is there already answers a request."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import etprof
from etprof.core.digest import file_sha256
from etprof.core.errors import StoreError
from etprof.core.layout import export_meta_path
from etprof.core.model import Artifact, ExportMeta
from etprof.core.regular_files import read_regular
from etprof.export.request import ExportRequest

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# 1  first version
SCHEMA_VERSION = 1
_MOST_BYTES = 1 << 26


@cache
def _adapter() -> "TypeAdapter[ExportMeta]":
    from pydantic import TypeAdapter

    return TypeAdapter(ExportMeta)


def build_meta(request: ExportRequest, **facts: Any) -> ExportMeta:
    settings = request.settings()
    return ExportMeta(
        model=request.model,
        backend=request.backend,
        dtype=request.dtype,
        precision=request.precision,
        quantization=settings["quantization"],
        seed=request.seed,
        etprof_version=etprof.__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        settings=settings,
        **facts,
    )


def save_meta(pte: Path, meta: ExportMeta) -> None:
    content = {"schema_version": SCHEMA_VERSION, **_adapter().dump_python(meta, mode="json")}
    content["weights"] = {key: value for key, value in content["weights"].items() if value is not None}
    export_meta_path(pte).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def load_meta(pte: Path) -> ExportMeta | None:
    """What is known about the export of this .pte; None where there is no meta file beside it."""
    from pydantic import ValidationError

    path = export_meta_path(pte)
    hint = "Export the model again: etprof export MODEL --force"
    try:
        content = json.loads(read_regular(path, _MOST_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.", hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not valid JSON: {error}.", hint=hint) from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path} has schema version {version}; this etprof reads version {SCHEMA_VERSION}.", hint=hint)
    try:
        return _adapter().validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{path} is not a valid export meta file: {where}: {first['msg']}.", hint=hint) from error


def find_reusable(request: ExportRequest, source_sha256: str, versions: Mapping[str, str | None]) -> Artifact | None:
    """The artifact in the folder, when it is what this request would make: same settings, code, versions and bytes."""
    try:
        meta = load_meta(request.pte)
    except StoreError:
        # Whatever it is, the new export takes its place.
        return None
    if meta is None:
        return None
    same = (
        meta.etprof_version == etprof.__version__
        and dict(meta.settings) == dict(request.settings())
        # Code without a digest may be other code by now.
        and meta.model_source.sha256 == source_sha256 != ""
        and dict(meta.versions) == dict(versions)
        and (meta.graph is not None or bool(meta.methods) or not request.save_graph)
        # An export of before has no reference that a run could compare its outputs with.
        and all(len(each.reference) == len(each.outputs) for each in meta.all_methods)
    )
    worst = [each.numerics.worst_snr_db for each in meta.all_methods]
    is_good_enough = all(snr is None or snr >= request.floor_db for snr in worst)
    return (
        Artifact(request.pte, meta, reused=True)
        if same and is_good_enough and is_intact(request.folder, meta)
        else None
    )


def is_intact(folder: Path, meta: ExportMeta) -> bool:
    """Whether the files of an export are in a folder, with the bytes they had."""
    digests = {each.file: each.sha256 for each in (meta.pte, meta.etrecord, meta.graph) if each}
    tensors = (each for method in meta.all_methods for each in (*method.inputs, *method.reference))
    digests |= {each.file: each.sha256 for each in tensors if each.file}
    paths = {folder / name: digest for name, digest in digests.items()}
    return all(path.is_file() and file_sha256(path) == digest for path, digest in paths.items())
