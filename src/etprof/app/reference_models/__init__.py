"""Two small models for self-tests: exported once, with the outputs of their eager forms, so that torch is not needed.

`scripts/make_reference_models.py` writes them.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from etprof.core.extensions import Extension

_FOLDER = Path(__file__).parent
# Instructions that multiply 8-bit integers, which a model in floating point never executes.
_INTEGER_CLASSES = frozenset({"I8MM", "DotProd"})


@dataclass(frozen=True)
class ReferenceModel:
    """A model with its input, and how closely correct outputs match those of its eager form."""

    name: str
    lowest_snr_db: float

    @property
    def model(self) -> Path:
        return _FOLDER / f"{self.name}.pte"

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (_FOLDER / "input_0.bin",)

    def read_outputs(self) -> tuple[NDArray[np.float64], ...]:
        return (np.fromfile(_FOLDER / f"{self.name}.output_0.bin", "<f4").astype(np.float64),)


FP32 = ReferenceModel("fp32", 80.0)
# Kernels may round to the next of 255 steps.
INT8 = ReferenceModel("int8", 25.0)


def choose_reference(extension: Extension | None) -> ReferenceModel:
    """The model whose operators execute this extension, where they can."""
    return INT8 if extension and set(extension.classes) <= _INTEGER_CLASSES else FP32
