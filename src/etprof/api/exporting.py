"""Exporting from Python: the command `etprof export` as a function."""

from collections.abc import Iterable
from pathlib import Path

from etprof.api import StrPath
from etprof.app.runtimes import add_program, choose_runtimes
from etprof.core.model import Artifact
from etprof.export.exporter import export_model
from etprof.export.request import ExportRequest, Quantization


def export(
    model: str,
    *,
    backend: str = "xnnpack",
    dtype: str = "fp32",
    quantize: Quantization | str | bool | None = None,
    outdir: StrPath | None = None,
    models_dir: StrPath | None = None,
    checkpoint: StrPath | None = None,
    seed: int = 0,
    min_snr: float | None = None,
    save_graph: bool = True,
    state_in_place: bool = False,
    debug: bool = False,
    force: bool = False,
    runtimes: str | Iterable[str] = "",
) -> Artifact:
    """Exports a model by its name to a .pte, runs it, and compares it with eager PyTorch.

    The options are those of `etprof export`; unlike there, the graph is saved unless you say otherwise, so that tables
    name the modules of operators. `quantize` is True for INT8, the name of a scheme such as "dynamic", or a
    Quantization. `runtimes` get a program of the same model each, beside the .pte.
    """
    chosen = choose_runtimes(runtimes)
    request = ExportRequest(
        model=model,
        outdir=_path(outdir),
        backend=backend,
        dtype=dtype,
        quantization=_quantization(quantize),
        seed=seed,
        checkpoint=_path(checkpoint),
        models_dir=_path(models_dir),
        min_snr_db=min_snr,
        save_graph=save_graph,
        state_in_place=state_in_place,
        debug=debug,
        force=force,
    )
    artifact = export_model(request)
    for runtime in chosen:
        add_program(artifact, request, runtime)
    return artifact


def _path(given: StrPath | None) -> Path | None:
    return None if given is None else Path(given)


def _quantization(quantize: Quantization | str | bool | None) -> Quantization | None:
    if isinstance(quantize, str):
        return Quantization(scheme=quantize)
    return Quantization() if quantize is True else quantize or None
