"""The graph of a model: the graph.json of its export where there is one, or else what the .pte itself holds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.errors import UsageError
from etprof.core.graph import GraphNode, ModelGraph
from etprof.core.layout import graph_path
from etprof.core.program import DEFAULT_METHOD
from etprof.export.graph_file import load_graph
from etprof.traces.program_graph import read_graphs


def find_graph(model: Path, method: str = "", sha256: str = "") -> ModelGraph | None:
    """The graph of a method of the model; of a model that was changed since it ran, only what its export saved.

    `sha256` is the digest of the file that ran, where one did.
    """
    saved = graph_path(model)
    if saved.is_file():
        return _load_saved(*_state_of(saved))
    if not model.is_file() or (sha256 and file_sha256(model) != sha256):
        return None
    return find_method(_read_program(*_state_of(model)), method)


def load_named_graph(path: Path) -> ModelGraph:
    """What a user names as a model's graph: a .graph.json, or a .pte of one method."""
    if path.suffix != ".pte":
        return load_graph(path)
    graphs = read_model_graphs(path)
    found = find_method(graphs, "")
    if found is None:
        raise UsageError(
            f"{path.name} has several methods and none is called {DEFAULT_METHOD}: {', '.join(graphs)}.",
            hint="Explain one of them: etprof explain MODEL.pte --method NAME",
        )
    return found


def read_model_graphs(model: Path) -> dict[str, ModelGraph]:
    """The graph of each method as the .pte has it, with the modules that a graph.json of the same nodes names."""
    graphs = read_graphs(model)
    saved = graph_path(model)
    if saved.is_file():
        named = load_graph(saved)
        return {method: _name_modules(graph, named) for method, graph in graphs.items()}
    return graphs


def find_method(graphs: Mapping[str, ModelGraph], method: str) -> ModelGraph | None:
    """That of the method; with none named `forward`, or the only one."""
    if method or DEFAULT_METHOD in graphs:
        return graphs.get(method or DEFAULT_METHOD)
    return next(iter(graphs.values())) if len(graphs) == 1 else None


def _name_modules(graph: ModelGraph, named: ModelGraph) -> ModelGraph:
    """The graph as it is where the other is of another file, as one that was left behind by an older export is."""
    pairs = [*zip(graph.partitions, named.partitions, strict=False), (graph.undelegated, named.undelegated)]
    if len(graph.partitions) != len(named.partitions) or not all(_are_same(*pair) for pair in pairs):
        return graph
    *partitions, undelegated = (tuple(map(_name_module, own, known)) for own, known in pairs)
    return ModelGraph(named.model, tuple(partitions), undelegated)


def _are_same(nodes: Sequence[GraphNode], others: Sequence[GraphNode]) -> bool:
    def describe(node: GraphNode) -> tuple[object, ...]:
        return node.type, node.debug_handle, [tensor.shape for tensor in node.outputs]

    return list(map(describe, nodes)) == list(map(describe, others))


def _name_module(node: GraphNode, named: GraphNode) -> GraphNode:
    return replace(node, edge_nodes=named.edge_nodes, module_path=named.module_path, source=named.source)


def _state_of(path: Path) -> tuple[Path, int, int]:
    state = path.stat()
    return path.resolve(), state.st_mtime_ns, state.st_size


# Runs that are compared are of one model as a rule: its graph is read once, and again when it has changed.
@lru_cache(maxsize=2)
def _load_saved(path: Path, _modified_ns: int, _size: int) -> ModelGraph:
    return load_graph(path)


@lru_cache(maxsize=2)
def _read_program(path: Path, _modified_ns: int, _size: int) -> dict[str, ModelGraph]:
    return read_graphs(path)
