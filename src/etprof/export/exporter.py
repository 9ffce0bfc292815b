"""Exports one model, runs the program and compares it with eager PyTorch: the only model-specific step."""

import glob
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from etprof.core.digest import file_sha256
from etprof.core.errors import ExportError
from etprof.core.layout import etrecord_path, export_debug_path, export_log_path, export_meta_path, graph_path
from etprof.core.model import Artifact, Calibration, ExportedFile, MethodMeta, ModelSource
from etprof.core.program import DEFAULT_METHOD
from etprof.export import calibration, inputs
from etprof.export.acceptance import describe_numerics, half_snr, refuse_broken
from etprof.export.dependencies import installed_version, require_packages, runtime_versions
from etprof.export.execution import run_program
from etprof.export.foreign import foreign_code, output_to
from etprof.export.graph import build_graph
from etprof.export.graph_file import save_graph
from etprof.export.intermediates import save_intermediates
from etprof.export.lowering import Lowered, Progress, lower
from etprof.export.machine_paths import without_machine_paths
from etprof.export.meta import build_meta, find_reusable, save_meta
from etprof.export.model_entry import MODELS_FOLDER, PROGRAM, ModelEntry
from etprof.export.numerics import compare_outputs
from etprof.export.provenance import share_provenance
from etprof.export.registry import find_model, find_models_dir
from etprof.export.request import ExportRequest, Quantization
from etprof.export.source import EagerModel, build_model, seeded, unchanged_buffers
from etprof.export.wheel_models import source_digest

__all__ = ["ExportRequest", "Quantization", "export_model"]


def export_model(request: ExportRequest, progress: Progress | None = None) -> Artifact:
    """Writes the .pte and its side files into the request's folder, all of them or none.

    `progress` is told each stage by a word. What libraries print goes to `<stem>.export.log` in the same folder.
    """
    report = progress or _ignore
    report("loading")
    versions = runtime_versions()
    try:
        with _published_log(request) as log, output_to(log):
            return _export_logged(request, versions, report)
    except OSError as error:
        raise ExportError(
            f"Writing to {request.folder} failed: {error.strerror or error}.",
            hint="Choose another folder: etprof export --outdir DIR",
        ) from error


def _export_logged(request: ExportRequest, versions: Mapping[str, str], progress: Progress) -> Artifact:
    try:
        return _export(request, versions, progress)
    except ExportError as error:
        traceback.print_exc()
        if request.folder.is_dir():
            error.hint = f"{error.hint} The log has the details: {export_log_path(request.pte)}".lstrip()
        raise


def _ignore(stage: str) -> None:
    pass


@contextmanager
def _published_log(request: ExportRequest) -> Iterator[Path]:
    """A log that moves into the folder when the export got as far as making one, and holds something."""
    with tempfile.TemporaryDirectory(prefix="etprof-") as scratch:
        log = Path(scratch) / "export.log"
        log.touch()
        try:
            yield log
        finally:
            if request.folder.is_dir() and log.stat().st_size:
                text = log.read_text(encoding="utf-8", errors="replace")
                export_log_path(request.pte).write_text(without_machine_paths(text), encoding="utf-8")


def _export(request: ExportRequest, versions: Mapping[str, str | None], progress: Progress) -> Artifact:
    entry = find_model(request.model, find_models_dir(request.models_dir))
    require_packages(entry.name, entry.requires)
    versions = {**versions, **{name: installed_version(name) for name in entry.requires}}
    if entry.problem and entry.origin in (MODELS_FOLDER, PROGRAM):
        raise ExportError(entry.problem, hint=f"Fix {entry.location}, then run: etprof models list")
    source = ModelSource(entry.origin, entry.location, source_digest(entry))
    if not request.force and not request.debug and (found := find_reusable(request, source.sha256, versions)):
        return found
    request.folder.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{request.stem}.partial-", dir=request.folder))
    try:
        facts = _export_into(partial, entry, request, progress)
        meta = build_meta(request, model_source=source, versions=dict(versions), **facts)
        save_meta(partial / request.pte.name, meta)
        _publish(partial, request)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Artifact(request.pte, meta)


def _publish(partial: Path, request: ExportRequest) -> None:
    """Moves the finished files into place, the meta file last: what it describes is there when it appears."""
    final_meta = export_meta_path(request.pte)
    final_meta.unlink(missing_ok=True)
    for stale in request.folder.glob(f"{glob.escape(request.stem)}.*"):
        if stale != export_log_path(request.pte):
            shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
    for path in sorted(partial.iterdir(), key=lambda p: p.name == final_meta.name):
        path.replace(request.folder / path.name)


def _export_into(folder: Path, entry: ModelEntry, request: ExportRequest, progress: Progress) -> dict[str, Any]:
    import torch

    progress("building")
    with torch.no_grad():
        model = build_model(entry, request.seed, request.checkpoint)
        dtype = torch.float16 if request.dtype == "fp16" else torch.float32
        parts = {name: _cast_inputs(part, dtype) for name, part in model.entry_points.items()}
        references = {name: eager_outputs(part, part.args, part.kwargs) for name, part in parts.items()}
        samples, calibrated = _calibration(model, request)
        model.module.to(dtype)
        with seeded(request.seed), share_provenance():
            whole = replace(model, methods=parts) if model.methods else parts[DEFAULT_METHOD]
            lowered = lower(whole, request, samples, progress)
        pte = folder / request.pte.name
        files = _save_program(pte, request, lowered)
        progress("checking")
        methods = {
            name: _check_method(pte, request, part, references[name], method=name, captured=lowered.captured[name])
            for name, part in parts.items()
        }
    first = next(iter(methods.values()))
    return {
        "weights": model.weights,
        "calibration": calibrated,
        "inputs": first.inputs,
        "reference": first.reference,
        "inputs_replaced_by_random": model.inputs_varied,
        "outputs": first.outputs,
        **files,
        "delegation": lowered.delegation,
        "numerics": first.numerics,
        "methods": methods if model.methods else {},
    }


def _cast_inputs(part: EagerModel, dtype: Any) -> EagerModel:
    args, kwargs = inputs.cast((part.args, dict(part.kwargs)), dtype)
    return replace(part, args=args, kwargs=kwargs)


def _check_method(
    pte: Path, request: ExportRequest, part: EagerModel, reference: list[Any], *, method: str, captured: Any
) -> MethodMeta:
    """Runs a method of the new program and compares it with the eager model."""
    tensors = inputs.flatten(part.args, part.kwargs, captured)
    with foreign_code("Running the exported program"):
        outputs = run_program(pte, tensors, method)
    errors = compare_outputs(reference, outputs)
    refuse_broken(request, reference, errors, partial(half_snr, part, part.args, part.kwargs, reference))
    return MethodMeta(
        inputs=inputs.save(tensors, pte, method),
        outputs=tuple(inputs.describe(output) for output in outputs),
        reference=inputs.save_reference(reference, pte, method),
        numerics=describe_numerics(request, errors),
    )


def eager_outputs(model: EagerModel, args: Any, kwargs: Any) -> list[Any]:
    """What the model computes in fp32 from the same values that the program is given."""
    import torch
    from torch.utils import _pytree as pytree

    exact_args, exact_kwargs = inputs.cast((args, kwargs), torch.float32)
    with foreign_code("Running the eager model"), unchanged_buffers(model.module):
        outputs = model.module(*exact_args, **exact_kwargs)
        return [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in pytree.tree_leaves(outputs)]


def _calibration(model: EagerModel, request: ExportRequest) -> tuple[list[calibration.Sample], Calibration | None]:
    quantization = request.quantization
    if quantization is None or quantization.scheme != "static":
        return [], None
    if model.methods:
        raise ExportError(
            f"{request.model!r} has several methods, which a static quantisation is not calibrated for.",
            hint="Use: etprof export --quantize --quant-scheme linear-dynamic",
        )
    with foreign_code("Making calibration inputs"):
        if isinstance(quantization.calibration, Path):
            samples, source = calibration.read_samples(quantization.calibration, model), str(quantization.calibration)
        else:
            samples, source = calibration.draw_samples(model, quantization.calibration, request.seed)
    return samples, Calibration(len(samples), source, calibration.digest(samples))


def _save_program(pte: Path, request: ExportRequest, lowered: Lowered) -> dict[str, ExportedFile | None]:
    pte.write_bytes(lowered.program.buffer)
    lowered.program.get_etrecord().save(str(etrecord_path(pte)))
    # The graph of each of several methods is read from the program itself.
    has_graph = request.save_graph and list(lowered.captured) == [DEFAULT_METHOD]
    if has_graph:
        save_graph(graph_path(pte), build_graph(request.model, lowered))
    if request.debug:
        save_intermediates(export_debug_path(pte), lowered)
    return {
        "pte": _describe_file(pte),
        "etrecord": _describe_file(etrecord_path(pte)),
        "graph": _describe_file(graph_path(pte)) if has_graph else None,
    }


def _describe_file(path: Path) -> ExportedFile:
    return ExportedFile(path.name, path.stat().st_size, file_sha256(path))
