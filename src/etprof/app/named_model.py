"""What a profile is asked for: the path of a .pte, or the name of a model, which is exported first."""

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from etprof.app.devices import DeviceRequest, reach_device
from etprof.core.errors import UsageError, nearest_names_hint
from etprof.export.exporter import export_model
from etprof.export.foreign import output_to
from etprof.export.registry import find_model, find_models_dir
from etprof.export.request import BACKENDS, DTYPES, ExportRequest, Quantization
from etprof.store.paths import check_path

_NAME = re.compile(r"\w[\w-]*")
# What an export calls its file, and the options behind the last part of that name.
_EXPORTED = re.compile(rf"(?P<model>\w[\w-]*)_(?P<backend>{'|'.join(BACKENDS)})_(?P<precision>fp32|fp16|q8|q4)\.pte")
_OF_PRECISION: dict[str, tuple[str, ...]] = {
    "fp32": (),
    "fp16": ("--dtype", "fp16"),
    "q8": ("--quantize",),
    "q4": ("--quantize", "--quant-scheme", "linear-dynamic", "--weight-bits", "4"),
}
_QUANTIZATIONS = {"q8": Quantization(), "q4": Quantization("linear-dynamic", weight_bits=4)}


def find_export(
    model: str, *, dtype: str = "", quantize: bool = False, models_dir: Path | None = None
) -> ExportRequest | None:
    """The export that a model's name stands for, as `etprof export` makes it; None for the path of a file."""
    path = check_path(Path(model))
    if _NAME.fullmatch(model) and not path.is_file():
        quantization = Quantization() if quantize else None
        return ExportRequest(model, dtype=dtype or "fp32", quantization=quantization, models_dir=models_dir)
    options = {"dtype": dtype, "quantize": quantize, "models-dir": models_dir}
    for option in (name for name, value in options.items() if value):
        raise UsageError(
            f"--{option} is for the name of a model; {model} is the path of a model that was exported before.",
            hint=f"Omit --{option}, or give the model's name: `etprof models list` lists them.",
        )
    return None


def find_absent_export(path: Path, models_dir: Path | None = None) -> ExportRequest | None:
    """The export that writes this file, which is not there; None for a file that is, or that no export would write."""
    found = _EXPORTED.fullmatch(path.name)
    if found is None or check_path(path).exists():
        return None
    precision = found["precision"]
    request = ExportRequest(
        found["model"],
        backend=found["backend"],
        dtype=precision if precision in DTYPES else "fp32",
        quantization=_QUANTIZATIONS.get(precision),
        models_dir=models_dir,
    )
    # Elsewhere it may be of other weights.
    return request if request.pte == path else None


def export_named(wanted: ExportRequest, device: DeviceRequest, stages: Callable[[str], None] | None = None) -> Path:
    """Exports a model, unless its file is there and is what this export would make; says which it was.

    That there is no device should be known before time is spent on an export.
    """
    require_name(wanted)
    reach_device(device)
    device.progress(f"exporting {wanted.model} ({wanted.precision}) to {wanted.pte}")
    artifact = export_model(wanted, stages)
    if artifact.reused:
        device.progress(f"{artifact.pte} was there and nothing has changed since, so it is used as it is")
    return artifact.pte


def require_name(wanted: ExportRequest) -> None:
    """Refuses a name that no model has; what is printed while models are looked for is not the user's."""
    with output_to(Path(os.devnull)):
        find_model(wanted.model, find_models_dir(wanted.models_dir))


def require_model(model: Path) -> None:
    folder = model if check_path(model).is_dir() else model.parent
    near = sorted(each.name for each in folder.glob("*.pte"))
    if model.is_dir():
        hint = f"Name the file: {', '.join(str(model / name) for name in near[:3])}" if near else "Name a .pte file."
        raise UsageError(f"{model} is a folder, not a model.", hint=hint)
    if model.suffix == ".json" and model.is_file():
        raise UsageError(f"{model} is not a model, which is a .pte.", hint=f"A plan is run with: etprof run {model}")
    if not model.is_file():
        exported = ", ".join(str(each) for each in sorted(Path().glob("out_*/artifacts/*.pte"))[:3])
        nearest = nearest_names_hint(model.name, near)
        hint = nearest or (f"Exported here: {exported}." if exported else describe_export(model))
        if _EXPORTED.fullmatch(model.name):
            hint = f"{describe_export(model)} {nearest}".rstrip()
        raise UsageError(f"There is no model {model}.", hint=hint)


def describe_export(model: Path) -> str:
    """The command that makes a file that is not there, from its own name, as a sentence."""
    found = _EXPORTED.fullmatch(model.name)
    if found is None:
        name = model.name if _NAME.fullmatch(str(model)) else "toy_cnn"
        return f"Export one first: `etprof export {name}`."
    options = [*_OF_PRECISION[found["precision"]]]
    options += ["--backend", found["backend"]] if found["backend"] != "xnnpack" else []
    if model.parent != Path(f"out_{found['model']}/artifacts"):
        options += ["--outdir", str(model.parent)]
    return f"Export it first: `{shlex.join(['etprof', 'export', found['model'], *options])}`."
