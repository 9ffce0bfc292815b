"""Which family of kernels each node of a graph is expected to execute, and the probed table that says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from etprof.core.graph import GraphNode

# The family of the kernels that use the matrix unit; the others are called after their instruction class.
SME2 = "SME2"
PROBE_COMMAND = "python scripts/probe_kernels.py"


class CpuLevel(StrEnum):
    """A CPU that offers this and all that follows, and nothing above."""

    SME2 = "SME2"
    I8MM = "i8mm"
    DOT_PRODUCT = "DotProd"


class Obstacle(StrEnum):
    """What keeps a node from the matrix unit; the value is its name in reports and files."""

    DATA_TYPE = "data type"
    WEIGHT_TYPE = "type of the weights"
    PER_TENSOR = "per-tensor weights"
    GROUP_WISE = "group-wise 4-bit weights"
    DYNAMIC_WEIGHTS = "dynamic weights"
    ONE_ROW = "one row (GEMV)"
    SHAPE = "shape"
    DEPTHWISE = "depthwise convolution"
    GROUPED = "grouped convolution"
    TRANSPOSED = "transposed convolution"
    NOT_PACKED = "not in the packed list"
    NOT_DELEGATED = "not delegated"
    NO_MATRIX_WORK = "no matrix work"


@dataclass(frozen=True, order=True)
class KernelCase:
    """What of a node decides which kernel XNNPACK takes for it; empty where a property does not apply.

    `operator` is the kind of layer, or the node's type where it multiplies no matrices. `inputs`, `weights` and
    `outputs` are data types in XNNPACK's words: fp32, qint8, qcint8. `shape` is a class of shapes.
    """

    operator: str
    inputs: str
    outputs: str
    weights: str = ""
    constant_weights: bool = True
    shape: str = ""


@dataclass(frozen=True)
class KernelRow:
    """A case as it was probed: on each level the family that executed and its functions, as far as they have names."""

    case: KernelCase
    families: Mapping[CpuLevel, str]
    functions: Mapping[CpuLevel, tuple[str, ...]]


@dataclass(frozen=True)
class KernelTable:
    """What one build of XNNPACK selects; `library_sha256` is the digest of the library that was probed.

    A wheel does not tell the commit of its XNNPACK. It tells ExecuTorch's, which names that of XNNPACK.
    """

    executorch: str
    executorch_commit: str
    library_sha256: str
    rows: tuple[KernelRow, ...]


@dataclass(frozen=True, kw_only=True)
class NodePrediction:
    """One node of a partition, or an operator outside of the delegate, whose `partition` is None.

    `is_compute` tells convolutions and matrix products. `families` has every level; None is unknown. `obstacle` is the
    first condition that keeps the node from the matrix unit of a CPU with SME2; None where nothing does, or where that
    is unknown. `why` is a sentence about it, and `change` one about the cheapest change that lifts it, if there is one.
    """

    partition: int | None
    node: GraphNode
    is_compute: bool
    families: Mapping[CpuLevel, str | None]
    obstacle: Obstacle | None = None
    why: str = ""
    change: str = ""

    @property
    def is_known(self) -> bool:
        return all(family is not None for family in self.families.values())
