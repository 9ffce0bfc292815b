"""Quantisation schemes: what XNNPACK's quantizer annotates, and torchao's for linear layers."""

from collections.abc import Callable, Iterable
from typing import Any

from etprof.core.errors import ExportError
from etprof.export.request import Quantization

_HINT = "Export it in fp32 or fp16, or with another scheme: etprof export --quantize --quant-scheme NAME"


def quantize_linear_layers(module: Any, quantization: Quantization) -> None:
    """Replaces the weights of linear layers in place by torchao's integer tensors."""
    import torch
    from torchao.quantization import quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig

    if not any(isinstance(each, torch.nn.Linear) for each in module.modules()):
        raise ExportError(f"The model has no linear layer, so {quantization.label} would quantise nothing.", hint=_HINT)
    weight_dtype = torch.int4 if quantization.weight_bits == 4 else torch.int8
    granularity = PerGroup(quantization.group_size) if quantization.group_size else PerAxis(0)
    if quantization.scheme == "linear-dynamic":
        config = Int8DynamicActivationIntxWeightConfig(weight_dtype=weight_dtype, weight_granularity=granularity)
    else:
        config = IntxWeightOnlyConfig(weight_dtype=weight_dtype, granularity=granularity)
    quantize_(module, config)


def quantize_graph(graph_module: Any, quantization: Quantization, samples: Iterable[tuple[Any, Any]]) -> Any:
    """The captured graph, quantised wherever XNNPACK's quantizer can; a graph without such a place is refused."""
    converted = quantize_nodes(graph_module, quantization, samples)
    if not is_quantised(converted):
        raise ExportError(f"Nothing in the model can be quantised with {quantization.label}.", hint=_HINT)
    return converted


def quantize_nodes(
    graph_module: Any,
    quantization: Quantization,
    samples: Iterable[tuple[Any, Any]],
    *,
    only: Callable[[Any], bool] | None = None,
) -> Any:
    """Annotates the captured graph, runs the calibration inputs through it, and converts it.

    `only` says which nodes to quantise; without it, all of them are.
    """
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(
        is_per_channel=quantization.granularity == "per_channel", is_dynamic=quantization.scheme == "dynamic"
    )
    quantizer = XNNPACKQuantizer().set_global(config)
    if only:
        quantizer.set_filter_function(only)
    prepared = prepare_pt2e(graph_module, quantizer)
    for args, kwargs in samples:
        prepared(*args, **kwargs)
    return convert_pt2e(prepared)


def is_quantised(converted: Any) -> bool:
    return any("quantize_per" in str(node.target) for node in converted.graph.nodes)
