"""Why an operator did not execute an extension: by what is predicted of its node in the graph, not by its name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from etprof.core.extensions import Extension
from etprof.core.kernel_evidence import OperatorKernels
from etprof.core.operators import OperatorId
from etprof.core.predictions import SME2, CpuLevel, NodePrediction

# What these instructions multiply: integers of 8 bits. XNNPACK's names of other types begin with an f or a b.
_OF_INTEGERS = ("I8MM", "DotProd")


@dataclass(frozen=True, eq=False)
class Expected:
    """What is predicted of the operators of a variant; `level` is what its CPU showed, None where it was not probed."""

    level: CpuLevel | None = None
    by_operator: Mapping[OperatorId, NodePrediction] = field(default_factory=dict)


def explain(row: OperatorKernels, extension: Extension, expected: Expected) -> str:
    """The reason, as a phrase; empty where the operator's node or its kernels are not known."""
    label = " or ".join(extension.classes)
    if not row.delegated:
        return f"not delegated: portable operators have no {label} kernels"
    prediction = expected.by_operator.get(row.identity)
    family = prediction.families.get(expected.level) if prediction and expected.level else None
    if prediction is None or family is None:
        return ""
    if family in (*extension.classes, *([SME2] if "SME" in extension.classes else [])):
        return f"{family} is predicted for it, but no {label} kernel was sampled"
    if "SME" in extension.classes:
        return f"{prediction.why} {prediction.change}".strip().rstrip(".")
    if set(extension.classes) <= set(_OF_INTEGERS) and _has_floats(prediction):
        return f"{label} multiplies 8-bit integers, and this operator has floating-point values: {family} is predicted"
    return f"it has no {label} kernel: {family} is predicted for it on a CPU with {expected.level}"


def _has_floats(prediction: NodePrediction) -> bool:
    return any(tensor.dtype.startswith(("f", "b")) for tensor in prediction.node.inputs[:1])
