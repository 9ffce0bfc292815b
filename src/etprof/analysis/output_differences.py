"""Whether two variants computed the same thing: their output tensors compared by the largest difference."""

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
    """The largest absolute difference over the largest baseline value; infinite where shapes or NaNs disagree."""
    if not baseline and not candidate:
        return None
    if [len(t) for t in baseline] != [len(t) for t in candidate]:
        return float("inf")
    return max((_tensor_difference(b, c) for b, c in zip(baseline, candidate, strict=True)), default=None)


def _tensor_difference(baseline: NDArray[np.float64], candidate: NDArray[np.float64]) -> float:
    if baseline.size == 0:
        return 0.0
    finite = np.isfinite(baseline)
    if not np.array_equal(finite, np.isfinite(candidate)):
        return float("inf")
    scale = float(np.max(np.abs(baseline[finite]), initial=0.0))
    difference = float(np.max(np.abs(baseline[finite] - candidate[finite]), initial=0.0))
    return difference / scale if scale else difference
