"""Many exports at once: models times dtypes and quantisation schemes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from etprof.core.errors import UnknownNameError
from etprof.export.model_entry import MODELS_FOLDER, ModelEntry
from etprof.export.registry import find_models_dir, list_models
from etprof.export.request import ExportRequest, Quantization

DEFAULT_DTYPES = ("fp32", "fp16")
DEFAULT_SCHEMES = ("static_per_channel",)
SCHEMES_BY_LABEL = {
    each.label: each
    for each in (
        Quantization(),
        Quantization(granularity="per_tensor"),
        Quantization(scheme="dynamic"),
        Quantization(scheme="linear-dynamic"),
        Quantization(scheme="linear-dynamic", weight_bits=4),
        Quantization(scheme="linear-dynamic", weight_bits=4, group_size=32),
    )
}


def candidate_models(models_dir: Path | None) -> list[ModelEntry]:
    """The models of the folder, or those that are shipped where there is none; `problem` says which are left out."""
    folder = find_models_dir(models_dir)
    return [entry for entry in list_models(folder) if entry.origin == MODELS_FOLDER or not folder]


def build_matrix(
    like: ExportRequest, models: Iterable[str], dtypes: Sequence[str], schemes: Sequence[str]
) -> list[ExportRequest]:
    """One request per cell. Quantised files share a name, so every scheme but the usual one gets its own folder."""
    for label in schemes:
        if label not in SCHEMES_BY_LABEL:
            known = list(SCHEMES_BY_LABEL)
            raise UnknownNameError("scheme", label, known, hint=f"Known: {', '.join(known)}.")
    requests = []
    for model in models:
        one = replace(like, model=model)
        requests += [replace(one, dtype=dtype) for dtype in dtypes]
        for label in schemes:
            folder = one.folder if label == DEFAULT_SCHEMES[0] else one.folder / label
            requests.append(replace(one, quantization=SCHEMES_BY_LABEL[label], outdir=folder))
    return requests
