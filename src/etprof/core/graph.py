"""The graph an export leaves behind: the nodes XNNPACK was given, and the operators that stayed with the runtime."""

from dataclasses import dataclass
from math import prod

# XNNPACK's sentinel for a node that the lowering itself inserted, such as a layout change.
NO_HANDLE = 65535

_BITS = {"4": 4, "8": 8, "16": 16, "32": 32, "64": 64}
_NAMED_BITS = {"bool": 8, "double": 64, "float": 32, "half": 16, "long": 64, "int": 32, "byte": 8, "char": 8}


@dataclass(frozen=True)
class TensorSpec:
    """`id` numbers the tensor within its partition, so that a node's inputs lead to the nodes that made them."""

    shape: tuple[int, ...]
    dtype: str
    constant: bool = False
    id: int | None = None

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bits(self) -> int | None:
        """Of the whole tensor; None for a type whose width its name does not tell."""
        digits = "".join(c for c in self.dtype if c.isdigit())
        bits = _BITS.get(digits) or _NAMED_BITS.get(self.dtype)
        return self.elements * bits if bits else None


@dataclass(frozen=True, kw_only=True)
class Window:
    """How a convolution or a pooling moves over its input; `padding` is top, right, bottom, left."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int = 1
    transposed: bool = False


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """One node of a partition (`type` such as XNNConv2d), or an operator that was not delegated.

    `output_min` and `output_max` are those of an activation that was fused into the node; None for an open end. `perm`
    is the order of axes of a transpose, `window` is that of a convolution or pooling; a graph of version 1 has none.
    `edge_nodes` are the nodes of the exported program it comes from.
    """

    index: int
    type: str
    debug_handle: int | None = None
    perm: tuple[int, ...] = ()
    output_min: float | None = None
    output_max: float | None = None
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    edge_nodes: tuple[str, ...] = ()
    module_path: str = ""
    source: str = ""
    window: Window | None = None

    @property
    def is_clamped(self) -> bool:
        return self.output_min is not None or self.output_max is not None


@dataclass(frozen=True)
class ModelGraph:
    """Partitions in the order of their delegate calls, and the other operators in the order they run."""

    model: str
    partitions: tuple[tuple[GraphNode, ...], ...]
    undelegated: tuple[GraphNode, ...]
