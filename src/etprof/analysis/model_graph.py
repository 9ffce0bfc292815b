"""The node lists an export leaves behind (graph.json): what XNNPACK was given, and what stayed with the runtime."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etprof.core.errors import StoreError

SCHEMA_VERSION = 1
# XNNPACK's sentinel for a node that the lowering itself inserted, such as a layout change.
NO_HANDLE = 65535


@dataclass(frozen=True)
class TensorSpec:
    """`value` numbers the tensor within its partition, so that a node's inputs lead to the nodes that made them."""

    shape: tuple[int, ...]
    dtype: str
    constant: bool = False
    value: int | None = None


@dataclass(frozen=True)
class GraphNode:
    """One node of a partition (`type` such as XNNConv2d), or an operator that was not delegated."""

    index: int
    type: str
    debug_handle: int | None
    clamped: bool
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    edge_nodes: tuple[str, ...]
    module_path: str
    permutation: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModelGraph:
    """Partitions in the order of their delegate calls, and the other operators in the order they run."""

    partitions: tuple[tuple[GraphNode, ...], ...]
    undelegated: tuple[GraphNode, ...]


def parse_graph(content: Any, origin: str) -> ModelGraph:
    """The graph out of parsed JSON; `origin` names the file in errors."""
    hint = "Export the model again: etprof export MODEL --save-graph"
    if not isinstance(content, dict) or content.get("schema_version") != SCHEMA_VERSION:
        raise StoreError(f"{origin} is no graph file of version {SCHEMA_VERSION}.", hint=hint)
    try:
        partitions = tuple(
            tuple(_parse_node(node, "type") for node in partition["nodes"]) for partition in content["partitions"]
        )
        return ModelGraph(partitions, tuple(_parse_node(node, "operator") for node in content["undelegated"]))
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{origin} does not hold what a graph file must: {error}.", hint=hint) from error


def _parse_node(node: Mapping[str, Any], type_key: str) -> GraphNode:
    edge_nodes = node.get("edge_nodes") or [node[key] for key in ("edge_node",) if node.get(key)]
    return GraphNode(
        index=int(node["index"]),
        type=str(node[type_key]),
        debug_handle=node.get("debug_handle"),
        clamped=node.get("output_min") is not None or node.get("output_max") is not None,
        inputs=tuple(_parse_tensor(tensor) for tensor in node.get("inputs", ())),
        outputs=tuple(_parse_tensor(tensor) for tensor in node.get("outputs", ())),
        edge_nodes=tuple(str(name) for name in edge_nodes),
        module_path=str(node.get("module_path", "")),
        permutation=tuple(int(axis) for axis in node.get("perm") or ()),
    )


def _parse_tensor(tensor: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(
        shape=tuple(int(size) for size in tensor["shape"]),
        dtype=str(tensor["dtype"]),
        constant=bool(tensor.get("constant")),
        value=tensor.get("id"),
    )
