"""Whether an exported program is accepted: it has to compute what the eager model computes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from etprof.core.errors import ExportError
from etprof.core.model import Numerics
from etprof.export.foreign import foreign_code
from etprof.export.numerics import OutputError, compare_outputs, worst_snr
from etprof.export.request import ExportRequest
from etprof.export.source import EagerModel


def half_snr(model: EagerModel, args: Any, kwargs: Any, reference: Sequence[Any]) -> float | None:
    """What PyTorch itself loses by computing in fp16; None where it cannot."""
    from torch.utils import _pytree as pytree

    try:
        with foreign_code("Running the eager model in fp16"):
            outputs = model.module(*args, **kwargs)
    except ExportError:
        return None
    return worst_snr(compare_outputs(reference, pytree.tree_leaves(outputs)))


def refuse_broken(
    request: ExportRequest,
    reference: Sequence[Any],
    errors: Sequence[OutputError],
    find_half_snr: Callable[[], float | None],
) -> None:
    import torch

    floats = [each for each in reference if isinstance(each, torch.Tensor) and each.is_floating_point()]
    if floats and not any(bool(tensor.any()) for tensor in floats):
        raise ExportError(
            f"Every output of the eager model {request.model!r} is zero, so the export cannot be checked.",
            hint="Give it other weights (etprof export --checkpoint FILE, or --seed N) or an initialisation that keeps "
            "activations alive.",
        )
    worst = worst_snr(errors)
    if worst < request.floor_db:
        scheme = f", {request.quantization.label}" if request.quantization else ""
        raise ExportError(
            f"The exported {request.model!r} ({request.precision}{scheme}) does not match the eager model: "
            f"SNR {worst:.1f} dB, and the floor is {request.floor_db:g} dB. Nothing was written.",
            hint=_broken_hint(request, find_half_snr),
        )


def _broken_hint(request: ExportRequest, find_half_snr: Callable[[], float | None]) -> str:
    if request.quantization and request.quantization.scheme == "linear-weight-only":
        return "Weight-only schemes lose their scale on this version; use --quant-scheme linear-dynamic."
    if request.precision == "fp16":
        eager = find_half_snr()
        if eager is None:
            return "Values may be too small or too large for fp16: compare with --dtype fp32."
        if eager < request.floor_db:
            return f"PyTorch itself reaches {eager:.1f} dB in fp16: its values do not fit into fp16. Use --dtype fp32."
        return (
            f"PyTorch itself reaches {eager:.1f} dB in fp16, so the loss is in the lowered program, not in the model. "
            "Use --dtype fp32, or see whether --backend portable computes it."
        )
    return "If this loss is acceptable, lower the floor with --min-snr."


def describe_numerics(request: ExportRequest, errors: Sequence[OutputError]) -> Numerics:
    worst = worst_snr(errors)
    return Numerics(
        reference="eager PyTorch, fp32, same weights and inputs",
        floor_db=request.floor_db,
        worst_snr_db=round(worst, 2) if math.isfinite(worst) else None,
        outputs=tuple(error.describe() for error in errors),
    )
