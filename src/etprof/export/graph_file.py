"""graph.json on disk: written by an export, read by the analysis. docs/reference/export-meta.md describes it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etprof.core.errors import StoreError
from etprof.core.graph import GraphNode, ModelGraph, TensorSpec, Window
from etprof.core.regular_files import read_regular

# 1: the first.
# 2: convolutions and poolings have their window; operators outside of the partitions have their inputs.
SCHEMA_VERSION = 2
_READABLE = (1, 2)
_MOST_BYTES = 1 << 28
_HINT = "Export the model again: etprof export MODEL --force"


def save_graph(path: Path, graph: ModelGraph) -> None:
    content = {
        "schema_version": SCHEMA_VERSION,
        "model": graph.model,
        "partitions": [
            {"index": index, "nodes": [_describe_node(node) for node in nodes]}
            for index, nodes in enumerate(graph.partitions)
        ],
        "undelegated": [_describe_undelegated(node) for node in graph.undelegated],
    }
    path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _describe_node(node: GraphNode) -> dict[str, Any]:
    return {
        "index": node.index,
        "type": node.type,
        "debug_handle": node.debug_handle,
        "perm": node.perm,
        "output_min": node.output_min,
        "output_max": node.output_max,
        "inputs": [_describe_tensor(tensor) for tensor in node.inputs],
        "outputs": [_describe_tensor(tensor) for tensor in node.outputs],
        "edge_nodes": node.edge_nodes,
        "module_path": node.module_path,
        "source": node.source,
        "window": _describe_window(node.window),
    }


def _describe_window(window: Window | None) -> dict[str, Any] | None:
    return asdict(window) if window else None


def _describe_tensor(tensor: TensorSpec) -> dict[str, Any]:
    return {"id": tensor.id, "shape": tensor.shape, "dtype": tensor.dtype, "constant": tensor.constant}


def _describe_undelegated(node: GraphNode) -> dict[str, Any]:
    return {
        "index": node.index,
        "operator": node.type,
        "edge_node": node.edge_nodes[0] if node.edge_nodes else "",
        "module_path": node.module_path,
        "inputs": [_describe_tensor(tensor) for tensor in node.inputs],
        "outputs": [_describe_tensor(tensor) for tensor in node.outputs],
        "window": _describe_window(node.window),
    }


def load_graph(path: Path) -> ModelGraph:
    try:
        content = json.loads(read_regular(path, _MOST_BYTES))
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.", hint=_HINT) from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is not valid JSON: {error}.", hint=_HINT) from error
    return parse_graph(content, str(path))


def parse_graph(content: Any, origin: str) -> ModelGraph:
    """The graph out of parsed JSON; `origin` names the file in errors."""
    if not isinstance(content, dict) or content.get("schema_version") not in _READABLE:
        versions = " or ".join(map(str, _READABLE))
        raise StoreError(f"{origin} is not a graph file of version {versions}.", hint=_HINT)
    try:
        partitions = tuple(
            tuple(_parse_node(node, "type") for node in partition["nodes"]) for partition in content["partitions"]
        )
        undelegated = tuple(_parse_node(node, "operator") for node in content["undelegated"])
        return ModelGraph(str(content.get("model", "")), partitions, undelegated)
    except KeyError as error:
        raise StoreError(f"{origin} is not a valid graph file: {error} is missing.", hint=_HINT) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{origin} is not a valid graph file: {error}.", hint=_HINT) from error


def _parse_node(node: Mapping[str, Any], type_key: str) -> GraphNode:
    edge_nodes = node.get("edge_nodes") or [node[key] for key in ("edge_node",) if node.get(key)]
    return GraphNode(
        index=int(node["index"]),
        type=str(node[type_key]),
        debug_handle=node.get("debug_handle"),
        perm=tuple(int(axis) for axis in node.get("perm") or ()),
        output_min=node.get("output_min"),
        output_max=node.get("output_max"),
        inputs=tuple(_parse_tensor(tensor) for tensor in node.get("inputs", ())),
        outputs=tuple(_parse_tensor(tensor) for tensor in node.get("outputs", ())),
        edge_nodes=tuple(str(name) for name in edge_nodes),
        module_path=str(node.get("module_path", "")),
        source=str(node.get("source", "")),
        window=_parse_window(node["window"]) if node.get("window") else None,
    )


def _parse_window(window: Mapping[str, Any]) -> Window:
    kernel, stride, padding, dilation = (
        tuple(int(size) for size in window[key]) for key in ("kernel", "stride", "padding", "dilation")
    )
    return Window(
        kernel=kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=int(window["groups"]),
        transposed=bool(window["transposed"]),
    )


def _parse_tensor(tensor: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(
        shape=tuple(int(size) for size in tensor["shape"]),
        dtype=str(tensor["dtype"]),
        constant=bool(tensor.get("constant")),
        id=tensor.get("id"),
    )
