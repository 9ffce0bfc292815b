"""The graph of an export: the XNNPACK nodes of each partition, and the way from each of them back to the model."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from etprof.core.graph import GraphNode, ModelGraph, TensorSpec, Window
from etprof.core.refusals import plain_operator
from etprof.core.xnnpack_nodes import build_convolution_window, build_node
from etprof.export.delegation import is_delegate_call, is_operator
from etprof.export.lowering import Lowered

_CONVOLUTION = "aten::convolution"


def build_graph(model: str, lowered: Lowered) -> ModelGraph:
    """Partitions in the order in which their delegate calls execute, and beside them the operators left out."""
    module = lowered.edge.exported_program().graph_module
    calls = [getattr(module, node.args[0].target) for node in module.graph.nodes if is_delegate_call(node)]
    return ModelGraph(model, tuple(_partition(call, lowered) for call in calls), _undelegated(lowered))


def _partition(call: Any, lowered: Lowered) -> tuple[GraphNode, ...]:
    graph = lowered.observed.graphs[bytes(call.processed_bytes)]
    origins: dict[int, list[Any]] = defaultdict(list)
    for node in call.original_module.graph.nodes:
        if is_operator(node):
            origins[node.meta.get("debug_handle", 0)].append(node)
    values = {value.id_out: _describe(value) for value in map(_tensor_value, graph.xvalues)}
    return tuple(_node(i, xnode, values, origins[xnode.debug_handle]) for i, xnode in enumerate(graph.xnodes))


def _node(index: int, xnode: Any, values: dict[int, TensorSpec], origins: list[Any]) -> GraphNode:
    union, limits = xnode.xnode_union, xnode.output_min_max
    main = next((node for node in origins if "quantize_per" not in node.name), origins[0] if origins else None)
    node = build_node(
        index,
        type(union).__name__,
        vars(union),
        values,
        debug_handle=xnode.debug_handle,
        limits=(limits.output_min, limits.output_max) if limits else None,
    )
    return replace(
        node,
        edge_nodes=tuple(origin.name for origin in origins),
        module_path=module_path(main) if main else "",
        source=_source(main) if main else "",
    )


def _tensor_value(xvalue: Any) -> Any:
    union = xvalue.xvalue_union
    return getattr(union, "tensor_value", union)


def _describe(value: Any) -> TensorSpec:
    return TensorSpec(
        shape=tuple(value.dims),
        dtype=value.datatype.name.removeprefix("xnn_datatype_"),
        constant=value.constant_buffer_idx != 0,
        id=value.id_out,
    )


def _undelegated(lowered: Lowered) -> tuple[GraphNode, ...]:
    """The portable operators in execution order, under the names the runtime calls them by."""
    program = lowered.program.exported_program()
    nodes = [n for n in program.graph_module.graph.nodes if _is_kernel_call(n)]
    constants = _list_constants(program.graph_signature)
    buffers = program.graph_signature.inputs_to_buffers
    return tuple(
        GraphNode(
            index=index,
            type=node.target.name(),
            edge_nodes=(node.name,),
            module_path=module_path(node) or _owner_of_state(node, buffers),
            inputs=tuple(
                _describe_value(value, constant=source.name in constants)
                for source in _tensor_arguments(node)
                for value in _values_of(source)
            ),
            outputs=tuple(_describe_value(value) for value in _values_of(node)),
            window=_portable_window(node),
        )
        for index, node in enumerate(nodes)
    )


def _owner_of_state(node: Any, buffers: Mapping[str, str]) -> str:
    """The module whose buffer it writes to: such operators are made with the program, and come from no module."""
    is_in_place = plain_operator(node.target.name()).endswith("_")
    written = node.args[0] if is_in_place and node.args else None
    return buffers.get(getattr(written, "name", ""), "").rpartition(".")[0]


def _list_constants(signature: Any) -> set[str]:
    """The inputs of the program that hold weights; a buffer that the program changes is not one."""
    changed = set(signature.buffers_to_mutate.values())
    buffers = [name for name, buffer in signature.inputs_to_buffers.items() if buffer not in changed]
    return {*signature.inputs_to_parameters, *buffers, *signature.inputs_to_lifted_tensor_constants}


def _tensor_arguments(node: Any) -> list[Any]:
    """The nodes it reads, in the order of its arguments; the buffer it writes into is a keyword and not among them."""
    listed = [argument if isinstance(argument, (list, tuple)) else [argument] for argument in node.args]
    return [each for arguments in listed for each in arguments if hasattr(each, "meta")]


def _portable_window(node: Any) -> Window | None:
    if not node.target.name().startswith(_CONVOLUTION):
        return None
    _, weight, _, stride, padding, dilation, transposed, _, groups = node.args[:9]
    return build_convolution_window(
        tuple(int(size) for size in weight.meta["val"].shape[2:]),
        stride=tuple(stride),
        padding=tuple(padding),
        dilation=tuple(dilation),
        transposed=bool(transposed),
        groups=int(groups),
    )


def _is_kernel_call(node: Any) -> bool:
    return is_operator(node) and not is_delegate_call(node) and hasattr(node.target, "_schema")


def _values_of(node: Any) -> list[Any]:
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return [each for each in values if hasattr(each, "shape")]


def _describe_value(value: Any, *, constant: bool = False) -> TensorSpec:
    shape = tuple(int(size) for size in value.shape)
    return TensorSpec(shape, str(value.dtype).removeprefix("torch."), constant=constant)


def module_path(node: Any) -> str:
    """The innermost module of the user's model that this node comes from, as `features.0.conv`."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def _source(node: Any) -> str:
    """The torch function the user's code called, where the capture recorded it."""
    function = node.meta.get("torch_fn")
    return str(function[1]).rsplit(".", 1)[-1] if function else ""
