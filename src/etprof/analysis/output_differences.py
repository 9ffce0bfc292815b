"""Whether two variants computed the same thing: their output tensors compared by the largest difference."""

from collections.abc import Sequence
from math import inf, log10

import numpy as np
from numpy.typing import NDArray

from etprof.core.loaded_run import Outputs
from etprof.core.model import ExportMeta

# Largest difference two correct variants may show, relative to the largest output. Kernels of different extensions add
# up in another order and round elsewhere; fp16 keeps 11 bits, and an INT8 result may fall on the next step.
_TOLERANCES = {"fp32": 1e-3, "fp16": 2e-2}
_TOLERANCE_QUANTIZED = 1e-1


def output_tolerance(meta: ExportMeta | None) -> float:
    return _TOLERANCES.get(meta.precision if meta else "fp32", _TOLERANCE_QUANTIZED)


def relative_difference(baseline: Outputs, candidate: Outputs) -> float | None:
    """The largest absolute difference over the largest baseline value; infinite where shapes or NaNs disagree.

    None where nothing can be compared: there is no output, or none is numbers.
    """
    if [_length(t) for t in baseline] != [_length(t) for t in candidate]:
        return float("inf")
    pairs = zip(baseline, candidate, strict=True)
    return max((_tensor_difference(b, c) for b, c in pairs if b is not None and c is not None), default=None)


def _length(values: NDArray[np.float64] | None) -> int | None:
    return None if values is None else len(values)


def _tensor_difference(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> float:
    if baseline.size == 0:
        return 0.0
    finite = np.isfinite(baseline)
    # Equal infinities have the same sign.
    agrees = np.array_equal(baseline[~finite], candidate[~finite], equal_nan=True)
    if not agrees or not np.isfinite(candidate[finite]).all():
        return float("inf")
    scale = float(np.max(np.abs(baseline[finite]), initial=0.0))
    difference = float(np.max(np.abs(baseline[finite] - candidate[finite]), initial=0.0))
    return difference / scale if scale else difference


def list_not_finite(outputs: Outputs) -> tuple[str, ...]:
    """The outputs that hold NaN or infinity, each as a phrase: output 0 (3 of 10 values)."""
    numbers = ((i, values) for i, values in enumerate(outputs) if values is not None)
    counts = ((i, int((~np.isfinite(values)).sum()), values.size) for i, values in numbers)
    return tuple(f"output {i} ({count} of {whole} values)" for i, count, whole in counts if count)


def list_not_numbers(outputs: Outputs, types: Sequence[str]) -> tuple[str, ...]:
    """The outputs that cannot be compared as numbers, each as a phrase: output 1 (string)."""
    return tuple(f"output {i} ({types[i]})" for i, values in enumerate(outputs) if values is None)


def signal_to_noise_db(reference: Outputs, outputs: Outputs) -> float | None:
    """The worst signal-to-noise ratio of the outputs, in decibels: infinite where all are equal.

    None where they are not outputs of the same number and sizes, or none is numbers.
    """
    if [_length(t) for t in reference] != [_length(t) for t in outputs]:
        return None
    pairs = zip(reference, outputs, strict=True)
    return min((_tensor_snr_db(r, o) for r, o in pairs if r is not None and o is not None), default=None)


def _tensor_snr_db(reference: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    if np.array_equal(reference, values):
        return inf
    if not (np.isfinite(reference).all() and np.isfinite(values).all()):
        return -inf
    signal, noise = float(np.square(reference).sum()), float(np.square(reference - values).sum())
    return 10 * log10(signal / noise) if signal else -inf
