"""How far the outputs of an exported program are from those of the eager model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from etprof.core.errors import ExportError
from etprof.core.model import OutputNumerics


@dataclass(frozen=True)
class OutputError:
    """One output compared with eager PyTorch in fp32. `snr_db` is infinite for equal tensors."""

    index: int
    snr_db: float
    cosine: float
    max_abs_error: float

    def describe(self) -> OutputNumerics:
        return OutputNumerics(
            output=self.index,
            snr_db=round(self.snr_db, 2) if math.isfinite(self.snr_db) else None,
            exact=self.snr_db == math.inf,
            cosine=round(self.cosine, 9),
            max_abs_error=self.max_abs_error,
        )


def compare_outputs(reference: Sequence[Any], actual: Sequence[Any]) -> list[OutputError]:
    if len(reference) != len(actual):
        raise ExportError(f"The exported program has {len(actual)} outputs, the eager model {len(reference)}.")
    pairs = enumerate(zip(reference, actual, strict=True))
    return [compare(i, *_as_tensors(i, expected, got)) for i, (expected, got) in pairs if not _is_same(expected, got)]


def _is_same(expected: Any, got: Any) -> bool:
    """Whether an output that is no number, None or a text, is what it should be."""
    return (expected is None or isinstance(expected, str)) and type(expected) is type(got) and bool(expected == got)


def _as_tensors(index: int, expected: Any, got: Any) -> tuple[Any, Any]:
    """Numbers as tensors without dimensions."""
    import torch

    for value in (expected, got):
        if not isinstance(value, (torch.Tensor, int, float)):
            raise ExportError(f"Output {index} of the exported program is {got!r}, not {expected!r}.")
    return torch.as_tensor(expected), torch.as_tensor(got)


def compare(index: int, expected: Any, got: Any) -> OutputError:
    if tuple(expected.shape) != tuple(got.shape):
        raise ExportError(
            f"Output {index} of the exported program has shape {tuple(got.shape)}, not {tuple(expected.shape)}."
        )
    signal, other = expected.double().flatten(), got.double().flatten()
    if not bool(signal.isfinite().all()):
        raise ExportError(f"Output {index} of the eager model is not finite, so there is nothing to compare with.")
    if not bool(other.isfinite().all()):
        raise ExportError(f"Output {index} of the exported program is not finite.")
    noise = float((signal - other).square().sum())
    power = float(signal.square().sum())
    norms = float(signal.norm() * other.norm())
    return OutputError(
        index=index,
        snr_db=_decibel(power, noise),
        cosine=float(signal @ other) / norms if norms else float(noise == 0),
        max_abs_error=float((signal - other).abs().max()) if signal.numel() else 0.0,
    )


def _decibel(power: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(power / noise) if power else -math.inf


def worst_snr(errors: Sequence[OutputError]) -> float:
    return min((error.snr_db for error in errors), default=math.inf)
