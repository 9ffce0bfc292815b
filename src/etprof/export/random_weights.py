"""Random weights that a model can be measured and judged with."""

from collections.abc import Mapping
from typing import Any


def settle_batch_norm(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> int:
    """Sets the statistics of every batch norm from what it sees in one forward pass, and returns how many there are.

    With the statistics of a fresh network (mean 0, variance 1) activations shrink from layer to layer: fp16 holds zeros
    at the end, and INT8 has nothing left to tell apart.
    """
    import torch

    norms = [each for each in module.modules() if isinstance(each, torch.nn.modules.batchnorm._BatchNorm)]
    hooks = [norm.register_forward_pre_hook(_take_statistics) for norm in norms]
    with torch.no_grad():
        module(*args, **(kwargs or {}))
    for hook in hooks:
        hook.remove()
    return len(norms)


def fill_zero_layers(module: Any) -> int:
    """Gives random weights to layers that start as zeros, to be trained later, and returns how many there were.

    A classifier that starts so gives zeros whatever comes before it: no error in the export could be seen.
    """
    import torch

    layers = [each for each in module.modules() if isinstance(each, (torch.nn.Linear, torch.nn.Conv2d))]
    zeros = [layer for layer in layers if not bool(layer.weight.any())]
    for layer in zeros:
        torch.nn.init.normal_(layer.weight, std=0.02)
    return len(zeros)


def _take_statistics(norm: Any, inputs: tuple[Any, ...]) -> None:
    import torch

    (features,) = inputs
    # A single value per channel has no variance.
    if norm.running_var is None or features.numel() <= features.shape[1]:
        return
    axes = [axis for axis in range(features.dim()) if axis != 1]
    variance, mean = torch.var_mean(features, dim=axes, correction=0)
    norm.running_mean.copy_(mean)
    norm.running_var.copy_(variance)
