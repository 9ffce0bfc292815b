"""Graphs for tests, node by node."""

from etprof.core.graph import NO_HANDLE, GraphNode, ModelGraph, TensorSpec


def a_tensor(number: int | None, *shape: int, dtype: str = "fp32", constant: bool = False) -> TensorSpec:
    return TensorSpec(shape, dtype, constant=constant, id=number)


def a_node(
    index: int,
    type: str,
    handle: int = NO_HANDLE,
    *,
    clamped: bool = False,
    inputs: tuple[TensorSpec, ...] = (),
    outputs: tuple[TensorSpec, ...] = (),
    perm: tuple[int, ...] = (),
    module: str = "",
) -> GraphNode:
    return GraphNode(
        index=index,
        type=type,
        debug_handle=handle,
        perm=perm,
        output_min=0.0 if clamped else None,
        inputs=inputs,
        outputs=outputs,
        module_path=module,
    )


def a_graph(*partitions: tuple[GraphNode, ...], undelegated: tuple[GraphNode, ...] = ()) -> ModelGraph:
    return ModelGraph("model", partitions, undelegated)
