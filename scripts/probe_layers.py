"""The layers that are probed: tiny ones of every kind, data type, quantisation scheme and class of shapes.

What decides on a kernel is met several times with different sizes, so that a property that was forgotten shows up as a
contradiction between two layers of one row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from etprof.core.model import EagerModelBase
from etprof.export.request import Quantization

Layer = tuple[Callable[[], Any], tuple[tuple[int, ...], ...]]


class Function(nn.Module):  # type: ignore[misc]
    """A function without weights, as a layer."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


class ConstantProduct(nn.Module):  # type: ignore[misc]
    """A batch of products with constant right-hand sides."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(shape))

    def forward(self, data: torch.Tensor) -> Any:
        return torch.matmul(data, self.weights)


def function(call: Callable[..., Any], *shapes: tuple[int, ...]) -> Layer:
    return partial(Function, call), shapes


def convolution(inputs: int, outputs: int, kernel: int, size: int, **options: int) -> Layer:
    return partial(nn.Conv2d, inputs, outputs, kernel, **options), ((1, inputs, size, size),)


def transposed(inputs: int, outputs: int, kernel: int, size: int, **options: int) -> Layer:
    return partial(nn.ConvTranspose2d, inputs, outputs, kernel, **options), ((1, inputs, size, size),)


def linear(rows: tuple[int, ...], inputs: int, outputs: int, *, bias: bool = True) -> Layer:
    return partial(nn.Linear, inputs, outputs, bias=bias), ((*rows, inputs),)


CONVOLUTIONS: dict[str, Layer] = {
    "3x3": convolution(32, 32, 3, 12, padding=1),
    "3x3 stride 2, image": convolution(3, 16, 3, 32, stride=2, padding=1),
    "3x3 dilated": convolution(16, 24, 3, 12, padding=2, dilation=2),
    "3x3 one channel": convolution(1, 16, 3, 24, padding=1),
    "3x3 odd channels": convolution(17, 19, 3, 12),
    "5x5": convolution(16, 16, 5, 12, padding=2),
    "7x7 stride 2": convolution(3, 32, 7, 24, stride=2, padding=3),
    "1x1": convolution(64, 48, 1, 16),
    "1x1 few channels": convolution(16, 2, 1, 32),
    "1x1 stride 2": convolution(64, 48, 1, 24, stride=2),
    "1x1 padded": convolution(32, 48, 1, 14, padding=1),
    "1x1 of one pixel": convolution(384, 512, 1, 1),
    "one dimension": (partial(nn.Conv1d, 32, 32, 3, padding=1), ((1, 32, 128),)),
    "to one pixel": convolution(48, 64, 8, 8),
    "grouped 3x3": convolution(32, 32, 3, 16, padding=1, groups=4),
    "grouped 1x1": convolution(64, 64, 1, 16, groups=2),
    "grouped to one pixel": convolution(64, 64, 8, 8, groups=2),
}
DEPTHWISE: dict[str, Layer] = {
    "depthwise 3x3": convolution(48, 48, 3, 24, padding=1, groups=48),
    "depthwise 3x3 stride 2": convolution(48, 48, 3, 32, padding=1, stride=2, groups=48),
    "depthwise 5x5": convolution(48, 48, 5, 16, padding=2, groups=48),
    "depthwise 7x7": convolution(48, 48, 7, 10, padding=3, groups=48),
    "depthwise 9x9": convolution(16, 16, 9, 10, padding=4, groups=16),
    "depthwise 1x1": convolution(64, 64, 1, 32, groups=64),
    "depthwise 1x1 stride 2": convolution(64, 64, 1, 48, stride=2, groups=64),
    "depthwise one dimension": (partial(nn.Conv1d, 48, 48, 3, padding=1, groups=48), ((1, 48, 512),)),
    "depthwise multiplied 3x3": convolution(24, 48, 3, 12, padding=1, groups=24),
    "depthwise multiplied 7x7": convolution(16, 32, 7, 8, padding=3, groups=16),
}
TRANSPOSED: dict[str, Layer] = {
    "transposed 2x2": transposed(32, 24, 2, 12, stride=2),
    "transposed 3x3": transposed(24, 24, 3, 12),
    "transposed 3x3 stride 2": transposed(24, 24, 3, 10, stride=2, padding=1, output_padding=1),
    "transposed 4x4": transposed(24, 16, 4, 10, stride=2, padding=1),
    "transposed grouped": transposed(32, 32, 3, 12, groups=4),
}
LINEAR: dict[str, Layer] = {
    "linear": linear((1, 64), 128, 96),
    "linear without bias": linear((1, 48), 128, 128, bias=False),
    "linear two rows": linear((2,), 512, 384),
    "linear odd": linear((13,), 96, 160),
    "linear one row": linear((1,), 512, 512),
    "linear one row of three dimensions": linear((1, 1), 384, 512),
    "linear one row, few outputs": linear((1,), 2048, 32),
}
PRODUCTS: dict[str, Layer] = {
    "product": function(torch.bmm, (4, 32, 64), (4, 64, 48)),
    "product of one batch": function(torch.bmm, (1, 48, 64), (1, 64, 64)),
    "product transposed": function(lambda a, b: a @ b.transpose(-2, -1), (1, 4, 32, 64), (1, 4, 48, 64)),
    "product of one row": function(torch.bmm, (8, 1, 128), (8, 128, 256)),
    "constant product": (partial(ConstantProduct, 4, 64, 48), ((4, 32, 64),)),
    "constant product of one row": (partial(ConstantProduct, 8, 128, 256), ((8, 1, 128),)),
    "product of two matrices": function(torch.mm, (48, 64), (64, 64)),
    "product of one row and a matrix": function(torch.mm, (1, 512), (512, 384)),
    "linear of computed weights": function(functional.linear, (32, 64), (64, 64)),
}
_IMAGE = (1, 32, 48, 48)
OTHERS: dict[str, Layer] = {
    "add": function(torch.add, _IMAGE, _IMAGE),
    "multiply": function(torch.mul, _IMAGE, _IMAGE),
    "subtract": function(torch.sub, _IMAGE, _IMAGE),
    "clamp": function(functional.relu6, _IMAGE),
    "hardswish": function(functional.hardswish, _IMAGE),
    "sigmoid": function(torch.sigmoid, _IMAGE),
    "tanh": function(torch.tanh, _IMAGE),
    "softmax": function(partial(torch.softmax, dim=-1), (64, 512)),
    "max pooling": function(partial(functional.max_pool2d, kernel_size=3, stride=2, padding=1), _IMAGE),
    "average pooling": function(partial(functional.avg_pool2d, kernel_size=2), _IMAGE),
    "mean": function(lambda x: torch.mean(x, (2, 3), keepdim=True), _IMAGE),
    "resize": function(partial(functional.interpolate, scale_factor=2.0, mode="bilinear"), (1, 16, 24, 24)),
    "concatenate": function(lambda a, b: torch.cat((a, b), 1), _IMAGE, _IMAGE),
    "pad": function(lambda x: functional.pad(x, (1, 1, 1, 1)), _IMAGE),
    "transpose": function(lambda x: x.permute(0, 2, 3, 1) + 0.0, _IMAGE),
}


class Layers(nn.Module):  # type: ignore[misc]
    """Layers beside each other, each with inputs and an output of its own."""

    def __init__(self, layers: Mapping[str, Layer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([build() for build, _ in layers.values()])
        self.counts = [len(shapes) for _, shapes in layers.values()]

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs, start = [], 0
        for layer, count in zip(self.layers, self.counts, strict=True):
            outputs.append(layer(*inputs[start : start + count]))
            start += count
        return tuple(outputs)


def build_class(layers: Mapping[str, Layer]) -> type[EagerModelBase]:
    """The class of a model that consists of these layers, as the registry of models takes it."""

    class Probed(EagerModelBase):
        def get_eager_model(self) -> Any:
            return Layers(layers)

        def get_example_inputs(self) -> tuple[Any, ...]:
            return tuple(torch.randn(shape) for _, shapes in layers.values() for shape in shapes)

    return Probed


@dataclass(frozen=True)
class ProbedModel:
    """Layers in one precision; `options` are those of the export."""

    name: str
    layers: Mapping[str, Layer]
    options: Mapping[str, Any] = field(default_factory=dict)


_STATIC, _TENSOR = Quantization(), Quantization(granularity="per_tensor")
_SCHEMES: dict[str, dict[str, Any]] = {
    "fp32": {},
    "fp16": {"dtype": "fp16"},
    "int8": {"quantization": _STATIC},
    "int8_per_tensor": {"quantization": _TENSOR},
    "int8_dynamic": {"quantization": Quantization(scheme="dynamic")},
    "linear_8bit": {"quantization": Quantization(scheme="linear-dynamic", weight_bits=8)},
    "linear_4bit": {"quantization": Quantization(scheme="linear-dynamic", weight_bits=4)},
    "linear_4bit_groups": {"quantization": Quantization(scheme="linear-dynamic", weight_bits=4, group_size=32)},
    "portable_fp32": {"backend": "portable"},
    "portable_fp16": {"backend": "portable", "dtype": "fp16"},
}
_EVERY = ("fp32", "fp16", "int8", "int8_per_tensor")
_KINDS: dict[str, tuple[Mapping[str, Layer], tuple[str, ...]]] = {
    "convolutions": (CONVOLUTIONS, (*_EVERY, "int8_dynamic", "portable_fp32", "portable_fp16")),
    # The quantiser takes no depthwise convolution dynamically, and no product of two activations at all.
    "depthwise": (DEPTHWISE, _EVERY),
    "transposed": (TRANSPOSED, (*_EVERY, "int8_dynamic")),
    "linear": (
        LINEAR,
        (*_EVERY, "int8_dynamic", "linear_8bit", "linear_4bit", "linear_4bit_groups", "portable_fp32", "portable_fp16"),
    ),
    "products": (PRODUCTS, ("fp32", "fp16", "portable_fp32", "portable_fp16")),
    "others": (OTHERS, ("fp32", "fp16", "int8")),
}
MODELS = tuple(
    ProbedModel(f"{kind}_{scheme}", layers, _SCHEMES[scheme])
    for kind, (layers, schemes) in _KINDS.items()
    for scheme in schemes
)
