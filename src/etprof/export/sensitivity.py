"""Where accuracy goes: each layer is quantised alone, and the outputs are compared with those of the fp32 model."""

import copy
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from etprof.core.exploration import LayerLoss
from etprof.export.accuracy import Yardstick
from etprof.export.calibration import Sample, draw_samples
from etprof.export.exporter import eager_outputs
from etprof.export.foreign import foreign_code, output_to
from etprof.export.graph import module_path
from etprof.export.lowering import capture
from etprof.export.numerics import compare_outputs, worst_snr
from etprof.export.quantize import is_quantised, quantize_nodes
from etprof.export.request import Quantization

_LAYERS = ("aten.conv", "aten.linear")


def measure_layers(
    yardstick: Yardstick, name: str, seed: int, quantization: Quantization, progress: Callable[[int, int, str], None]
) -> tuple[LayerLoss, ...]:
    """Every convolution and linear layer; `progress` hears how many of them are done, and which is next."""
    import torch

    assert isinstance(quantization.calibration, int)  # a scheme as `--schemes` names it
    model = yardstick.model
    with torch.no_grad():
        captured = capture(model, model.module, name).module()
        samples, _ = draw_samples(model, quantization.calibration, seed)
        expected = [eager_outputs(model, args, kwargs) for args, kwargs in yardstick.held_out]
        layers = _list_layers(captured)
        losses = []
        for number, layer in enumerate(layers):
            progress(number, len(layers), layer)
            with output_to(Path(os.devnull)):
                quantised = _quantise(captured, layer, quantization, samples)
                losses.append(LayerLoss(layer, _lowest_snr(quantised, yardstick, expected) if quantised else None))
    return tuple(losses)


def _list_layers(captured: Any) -> list[str]:
    """The modules whose operators multiply weights, in the order in which they run."""
    nodes = [node for node in captured.graph.nodes if str(node.target).startswith(_LAYERS)]
    return list(dict.fromkeys(path for node in nodes if (path := module_path(node))))


def _quantise(captured: Any, layer: str, quantization: Quantization, samples: list[Sample]) -> Any | None:
    """None where the quantizer leaves the layer as it is."""
    with foreign_code(f"Quantising {layer}"):
        quantised = quantize_nodes(copy.deepcopy(captured), quantization, samples, only=partial(_belongs_to, layer))
        return quantised if is_quantised(quantised) else None


def _lowest_snr(quantised: Any, yardstick: Yardstick, expected: list[list[Any]]) -> float | None:
    """Over the held-out inputs; None where it is infinite."""
    from torch.utils import _pytree as pytree

    with foreign_code("Running the model with one quantised layer"):
        outputs = [pytree.tree_leaves(quantised(*args, **kwargs)) for args, kwargs in yardstick.held_out]
    pairs = zip(expected, outputs, strict=True)
    lowest = min(worst_snr(compare_outputs(reference, found)) for reference, found in pairs)
    return lowest if math.isfinite(lowest) else None


def _belongs_to(module: str, node: Any) -> bool:
    """Whether a node is of a module: weights belong to what uses them, and a ReLU to what it follows.

    The quantizer asks for all nodes of what it takes as one operator.
    """
    if node.op in ("get_attr", "placeholder"):
        return any(module_path(user) == module for user in node.users)
    return module_path(node.args[0] if str(node.target).startswith("aten.relu") else node) == module
