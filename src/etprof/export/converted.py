"""The model of an export as a program of another runtime: the same weights and inputs, and checked in the same way."""

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import etprof
from etprof.core.digest import file_sha256
from etprof.core.errors import ExportError, UsageError
from etprof.core.layout import converted_log_path, converted_meta_path, converted_path
from etprof.core.model import Artifact, ExportedFile, ExportMeta, Numerics
from etprof.core.regular_files import read_regular
from etprof.core.runtimes import RUNTIMES, ConvertedProgram
from etprof.export import inputs
from etprof.export.dependencies import RUNTIME, installed_version, require_supported
from etprof.export.exporter import eager_outputs
from etprof.export.foreign import foreign_code, output_to
from etprof.export.lowering import Progress, capture
from etprof.export.machine_paths import shorten_stack_traces, without_machine_paths
from etprof.export.model_entry import MODELS_FOLDER
from etprof.export.numerics import compare_outputs, worst_snr
from etprof.export.registry import find_model, find_models_dir
from etprof.export.source import EagerModel, build_model, seeded, unchanged_buffers
from etprof.export.wheel_models import source_digest

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# 1  first version
SCHEMA_VERSION = 1
_MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Converter:
    """What a module of this package defines as its `CONVERTER`: how a captured program is written, and run once."""

    write: Callable[[Any, Path], None]
    run: Callable[[Path, Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class Origin:
    """Where the model of an export comes from, as far as its meta file does not say."""

    models_dir: Path | None = None
    checkpoint: Path | None = None


def convert(artifact: Artifact, runtime: str, origin: Origin | None = None, progress: Progress | None = None) -> Path:
    """The program beside the .pte, made unless it is there and belongs to it."""
    kind = RUNTIMES[runtime]
    target = converted_path(artifact.pte, kind.program_suffix)
    refuse_precision(artifact.meta, runtime)
    require_supported(kind.packages, f"Running a model with {kind.title}")
    versions = {name: installed_version(name) or "" for name in (*RUNTIME, *kind.packages)}
    if _is_current(target, artifact, versions):
        return target
    if progress:
        progress("converting")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.partial-", dir=target.parent) as folder:
        made = Path(folder) / target.name
        with _kept_log(Path(folder) / "log", converted_log_path(target)) as log, output_to(log):
            numerics = _make(artifact.meta, runtime, made, origin or Origin())
        _save_meta(made, _describe(artifact, runtime, made, versions, numerics))
        converted_meta_path(target).unlink(missing_ok=True)
        # The meta file last: what it describes is there when it appears.
        for path in (made, converted_meta_path(made)):
            path.replace(target.parent / path.name)
    return target


@contextmanager
def _kept_log(log: Path, kept: Path) -> Iterator[Path]:
    """A log of what libraries print, kept where the conversion fails, and named then."""
    log.touch()
    kept.unlink(missing_ok=True)
    try:
        yield log
    except ExportError as error:
        kept.write_text(without_machine_paths(log.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")
        error.hint = f"{error.hint} The log has the details: {kept}".lstrip()
        raise


def find_converter(runtime: str) -> Converter:
    converter: Converter = import_module(f"etprof.export.{RUNTIMES[runtime].converter}").CONVERTER
    return converter


def refuse_precision(meta: ExportMeta, runtime: str) -> None:
    if meta.quantization:
        raise UsageError(
            f"{meta.pte.file} is quantised as XNNPACK computes it; {RUNTIMES[runtime].title} has other schemes, so "
            "that not the same computation would be compared.",
            hint="Compare an fp32 or fp16 export: etprof export MODEL [--dtype fp16]",
        )


def load_converted(program: Path) -> ConvertedProgram | None:
    """What is known of a program of another runtime; None where nothing that is valid lies beside it."""
    from pydantic import ValidationError

    try:
        content = json.loads(read_regular(converted_meta_path(program), _MOST_BYTES))
        is_known = isinstance(content, dict) and content.get("schema_version") == SCHEMA_VERSION
        return _adapter().validate_python(content) if is_known else None
    except (OSError, ValueError, RecursionError, ValidationError):
        # Whatever it is, a new conversion takes its place.
        return None


def _is_current(target: Path, artifact: Artifact, versions: Mapping[str, str]) -> bool:
    found = load_converted(target)
    return (
        found is not None
        and found.pte == artifact.meta.pte
        and found.etprof_version == etprof.__version__
        and dict(found.versions) == versions
        and target.is_file()
        and file_sha256(target) == found.program.sha256
    )


def _make(meta: ExportMeta, runtime: str, path: Path, origin: Origin) -> Numerics:
    """Writes the program of the same eager model, runs it once, and compares it with that model."""
    import torch

    title = RUNTIMES[runtime].title
    converter = find_converter(runtime)
    with torch.no_grad():
        model = _build_same_model(meta, origin)
        dtype = torch.float16 if meta.dtype == "fp16" else torch.float32
        args, kwargs = inputs.cast((model.args, dict(model.kwargs)), dtype)
        reference = eager_outputs(model, args, kwargs)
        if _keeps_state(model):
            raise UsageError(
                f"{meta.model!r} keeps state between inferences, and a program of {title} does not.",
                hint="Run it with ExecuTorch only.",
            )
        model.module.to(dtype)
        with seeded(meta.seed):
            captured = capture(replace(model, args=args, kwargs=kwargs), model.module, meta.model)
        shorten_stack_traces(captured)
        with foreign_code(f"Converting {meta.model!r} to {title}"):
            converter.write(captured, path)
        with foreign_code(f"Running the converted program with {title}"):
            outputs = converter.run(path, inputs.flatten(args, kwargs, captured))
        return _compare(meta, title, reference, outputs)


def _build_same_model(meta: ExportMeta, origin: Origin) -> EagerModel:
    """The eager model of the export: refused where its code or its weights are other ones by now."""
    if meta.weights.source == "checkpoint" and origin.checkpoint is None:
        raise UsageError(
            f"{meta.pte.file} has the weights of {meta.weights.file}, which is needed once more to convert it.",
            hint=f"Run: etprof export {meta.model} --checkpoint {meta.weights.file} --runtimes RUNTIME",
        )
    entry = find_model(meta.model, find_models_dir(origin.models_dir or _find_folder(meta)))
    again = "Export the model again: it has changed since."
    if source_digest(entry) != meta.model_source.sha256:
        raise UsageError(f"The code of {meta.model!r} is not that which {meta.pte.file} was exported from.", hint=again)
    model = build_model(entry, meta.seed, origin.checkpoint)
    if model.weights.sha256 != meta.weights.sha256:
        raise UsageError(f"The weights of {meta.model!r} are not those of {meta.pte.file}.", hint=again)
    return model


def _keeps_state(model: EagerModel) -> bool:
    """Whether an inference changes a buffer, as the cache of a decoder."""

    def read_buffers() -> dict[str, bytes]:
        return {name: inputs.tensor_bytes(buffer) for name, buffer in model.module.named_buffers()}

    before = read_buffers()
    with foreign_code("Running the eager model"), unchanged_buffers(model.module):
        model.module(*model.args, **model.kwargs)
        return read_buffers() != before


def _find_folder(meta: ExportMeta) -> Path | None:
    """The models folder that the model was found in, if it is still there."""
    folder = Path(meta.model_source.location).parent
    return folder if meta.model_source.origin == MODELS_FOLDER and folder.is_dir() else None


def _compare(meta: ExportMeta, title: str, reference: Sequence[Any], outputs: Sequence[Any]) -> Numerics:
    errors = compare_outputs(reference, outputs)
    worst, floor_db = worst_snr(errors), meta.numerics.floor_db
    if worst < floor_db:
        raise ExportError(
            f"What {title} computes does not match the eager model {meta.model!r} ({meta.precision}): "
            f"SNR {worst:.1f} dB, and the floor is {floor_db:g} dB. Nothing was written.",
            hint="Leave this runtime out, or compare another precision.",
        )
    return Numerics(
        reference=meta.numerics.reference,
        floor_db=floor_db,
        worst_snr_db=round(worst, 2) if math.isfinite(worst) else None,
        outputs=tuple(error.describe() for error in errors),
    )


def _describe(
    artifact: Artifact, runtime: str, made: Path, versions: Mapping[str, str], numerics: Numerics
) -> ConvertedProgram:
    return ConvertedProgram(
        runtime=runtime,
        program=ExportedFile(made.name, made.stat().st_size, file_sha256(made)),
        pte=artifact.meta.pte,
        weights_sha256=artifact.meta.weights.sha256,
        precision=artifact.meta.precision,
        versions=versions,
        numerics=numerics,
        etprof_version=etprof.__version__,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _save_meta(program: Path, meta: ConvertedProgram) -> None:
    content = {"schema_version": SCHEMA_VERSION, **_adapter().dump_python(meta, mode="json")}
    converted_meta_path(program).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


@cache
def _adapter() -> "TypeAdapter[ConvertedProgram]":
    from pydantic import TypeAdapter

    return TypeAdapter(ConvertedProgram)
