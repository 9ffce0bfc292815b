"""The graph an export leaves behind: the nodes XNNPACK was given, and the operators that stayed with the runtime."""

from dataclasses import dataclass

# XNNPACK's sentinel for a node that the lowering itself inserted, such as a layout change.
NO_HANDLE = 65535


@dataclass(frozen=True)
class TensorSpec:
    """`id` numbers the tensor within its partition, so that a node's inputs lead to the nodes that made them."""

    shape: tuple[int, ...]
    dtype: str
    constant: bool = False
    id: int | None = None


@dataclass(frozen=True, kw_only=True)
class GraphNode:
    """One node of a partition (`type` such as XNNConv2d), or an operator that was not delegated.

    `output_min` and `output_max` are those of an activation that was fused into the node; None for an open end. `perm`
    is the order of axes of a transpose. `edge_nodes` are the nodes of the exported program it comes from.
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

    @property
    def is_clamped(self) -> bool:
        return self.output_min is not None or self.output_max is not None


@dataclass(frozen=True)
class ModelGraph:
    """Partitions in the order of their delegate calls, and the other operators in the order they run."""

    model: str
    partitions: tuple[tuple[GraphNode, ...], ...]
    undelegated: tuple[GraphNode, ...]
