"""The networks of a calibration: chains of layers over the sizes that models have.

In a chain each probe finds its inputs in the caches as a layer of a model does. Sizes are spread evenly by Halton's
sequence (Numerische Mathematik 2, 1960), which gives the same networks everywhere.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from etprof.core.model import EagerModelBase

# Side of the image, and the numbers of channels there. They are multiples of 8, 16, 32 and 64 by turns: how many
# columns a kernel computes at a time decides on what it wastes.
_STAGES: tuple[tuple[int, tuple[int, ...]], ...] = (
    (112, (8, 16, 24, 32, 48, 64)),
    (56, (16, 24, 32, 40, 64, 72, 96, 128)),
    (28, (24, 32, 40, 48, 72, 88, 96, 120, 128, 192, 256)),
    (14, (40, 48, 64, 80, 88, 96, 112, 120, 144, 160, 192, 240, 256, 384, 512)),
    (7, (64, 96, 120, 160, 192, 240, 288, 320, 512, 576, 960)),
)
_TOKENS = (49, 64, 128, 196, 256)
_WIDTHS = (64, 96, 120, 128, 192, 256, 320, 384, 512, 768)
_HEADS = (32, 48, 64)
# So many multiply-accumulates a layer may have, so that a calibration takes minutes.
_MOST_MACS = 60_000_000
_T = TypeVar("_T")


class Spread:
    """Numbers between 0 and 1 that lie evenly: Halton's sequence of one base."""

    def __init__(self, base: int, start: int) -> None:
        self._base, self._at = base, start

    def choose(self, among: Sequence[_T]) -> _T:
        self._at += 1
        value, share, rest = 0.0, 1.0, self._at
        while rest:
            share /= self._base
            rest, digit = divmod(rest, self._base)
            value += share * digit
        return among[int(value * len(among))]


class Function(nn.Module):  # type: ignore[misc]
    """A function without weights, as a layer."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, data: Tensor) -> Any:
        return self.function(data)


class SqueezeExcite(nn.Module):  # type: ignore[misc]
    """Scales each channel by what two layers of one row make of its mean."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, max(channels // 4, 8), 1)
        self.expand = nn.Conv2d(max(channels // 4, 8), channels, 1)

    def forward(self, data: Tensor) -> Tensor:
        scale = functional.relu(self.reduce(data.mean((2, 3), keepdim=True)))
        return data * functional.hardsigmoid(self.expand(scale))


def _shuffle(data: Tensor) -> Tensor:
    batch, channels, height, width = data.shape
    split = data.view(batch, 2, channels // 2, height, width)
    return split.permute(0, 2, 1, 3, 4).reshape(batch, channels, height, width)


def _join_and_split(data: Tensor) -> Tensor:
    return torch.cat((data, torch.tanh(data)), 1)[:, : data.shape[1]]


def _grow_and_shrink(data: Tensor) -> Tensor:
    grown = functional.interpolate(data, scale_factor=2.0, mode="bilinear", align_corners=False)
    return functional.avg_pool2d(grown, 2)


# What stands between the layers with weights, each with two operators or more.
_BETWEEN: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda data: data * torch.sigmoid(data),
    lambda data: data + functional.hardswish(data),
    _shuffle,
    lambda data: data - torch.sigmoid(data),
    _join_and_split,
    lambda data: data + functional.gelu(data),
    lambda data: functional.max_pool2d(data, 3, stride=1, padding=1),
    lambda data: data + functional.relu6(data) * 0.5,
    _grow_and_shrink,
    lambda data: data + functional.leaky_relu(data),
)
_POINTWISE, _FULL, _DEPTHWISE, _WIDE_DEPTHWISE, _EXCITE = range(5)
# The layers with weights of one stage.
_STAGE = (
    _POINTWISE, _DEPTHWISE, _POINTWISE, _FULL, _EXCITE, _POINTWISE, _WIDE_DEPTHWISE, _POINTWISE, _FULL, _POINTWISE,
)  # fmt: skip


class ImageChain(nn.Module):  # type: ignore[misc]
    """Convolutions of all kinds from large images with few channels to small ones with many."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.input_shapes = [(1, 3, 2 * _STAGES[0][0], 2 * _STAGES[0][0])]
        self._columns, self._between = Spread(3, 17 * number), Spread(2, 5 * number)
        channels = 16
        layers: list[Any] = [nn.Conv2d(3, channels, 3, stride=2, padding=1)]
        for at, (side, known) in enumerate(_STAGES):
            if at:
                layers.append(self._shrink(at + number, channels))
            for form in _STAGE:
                layer, channels = self._build(form, side, channels, known)
                layers += [layer, Function(self._between.choose(_BETWEEN))]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(channels, 1000)

    def _build(self, form: int, side: int, channels: int, known: Sequence[int]) -> tuple[Any, int]:
        if form in (_DEPTHWISE, _WIDE_DEPTHWISE):
            size = 3 if form == _DEPTHWISE else 5
            return nn.Conv2d(channels, channels, size, padding=size // 2, groups=channels), channels
        if form == _EXCITE:
            return SqueezeExcite(channels), channels
        size = 3 if form == _FULL else 1
        fitting = [each for each in known if side**2 * size**2 * channels * each <= _MOST_MACS] or known[:1]
        outputs = self._columns.choose(fitting)
        return nn.Conv2d(channels, outputs, size, padding=size // 2), outputs

    @staticmethod
    def _shrink(at: int, channels: int) -> Any:
        if at % 3 == 0:
            return nn.MaxPool2d(2)
        groups = channels if at % 3 == 1 else 1
        return nn.Conv2d(channels, channels, 3, stride=2, padding=1, groups=groups)

    def forward(self, image: Tensor) -> Tensor:
        for layer in self.layers:
            image = layer(image)
        return self.head(image.mean((2, 3)))


class Attention(nn.Module):  # type: ignore[misc]
    """What transformers consist of: products of activations, a softmax, and the transposes around them."""

    def __init__(self, width: int, head: int) -> None:
        super().__init__()
        self.heads, self.head = max(width // head, 1), head
        inner = self.heads * head
        self.norm = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, inner) for _ in range(3))
        self.output = nn.Linear(inner, width)

    def forward(self, tokens: Tensor) -> Tensor:
        normed = self.norm(tokens)
        query, key, value = (self._split(each(normed)) for each in (self.query, self.key, self.value))
        weights = torch.softmax(query @ key.transpose(-2, -1) * self.head**-0.5, -1)
        mixed = (weights @ value).transpose(1, 2).reshape(*tokens.shape[:2], self.heads * self.head)
        return tokens + self.output(mixed)

    def _split(self, data: Tensor) -> Tensor:
        return data.reshape(data.shape[0], data.shape[1], self.heads, self.head).transpose(1, 2)


class Mlp(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, tokens: Tensor) -> Tensor:
        return tokens + self.down(functional.gelu(self.up(self.norm(tokens))))


class TokenChains(nn.Module):  # type: ignore[misc]
    """A chain of transformer blocks for each number of tokens, with widths that change."""

    def __init__(self) -> None:
        super().__init__()
        widths, heads = Spread(3, 7), Spread(2, 3)
        self.chains = nn.ModuleList()
        self.input_shapes: list[tuple[int, ...]] = []
        for tokens in _TOKENS:
            fitting = [each for each in _WIDTHS if tokens * each * 3 * each <= _MOST_MACS]
            width = widths.choose(fitting)
            self.input_shapes.append((1, tokens, width))
            layers: list[Any] = []
            for expansion in (2, 3):
                after = widths.choose(fitting)
                attention = Attention(width, heads.choose(_HEADS))
                layers += [attention, nn.Linear(width, after), Mlp(after, expansion * after)]
                width = after
            self.chains.append(nn.Sequential(*layers))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(chain(tokens).mean(1) for chain, tokens in zip(self.chains, inputs, strict=True))


def _stem(outputs: int, size: int, stride: int, inputs: int = 3) -> nn.Module:
    return nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2 if size > stride else 0)


# Layers that no chain has: the first ones of models, layers of one row, odd sizes, what XNNPACK does not execute.
_SINGLE: tuple[tuple[Callable[[], Any], tuple[int, ...]], ...] = (
    (lambda: _stem(64, 7, 2), (1, 3, 160, 160)),
    (lambda: _stem(32, 3, 2), (1, 3, 224, 224)),
    (lambda: _stem(16, 3, 2), (1, 3, 224, 224)),
    (lambda: _stem(8, 3, 2), (1, 3, 96, 96)),
    (lambda: _stem(16, 3, 1), (1, 3, 32, 32)),
    (lambda: _stem(192, 16, 16), (1, 3, 160, 160)),
    (lambda: _stem(96, 4, 4), (1, 3, 128, 128)),
    (lambda: nn.Conv2d(1, 64, (10, 4), stride=2, padding=(5, 1)), (1, 1, 49, 10)),
    (lambda: nn.Conv2d(64, 64, 3, padding=1, groups=64), (1, 64, 25, 5)),
    (lambda: nn.Conv2d(64, 64, 1), (1, 64, 25, 5)),
    (lambda: nn.Conv2d(32, 32, 3, padding=1), (1, 32, 16, 16)),
    (lambda: nn.Conv2d(16, 32, 3, stride=2, padding=1), (1, 16, 32, 32)),
    (lambda: nn.Conv2d(64, 64, 1, stride=2), (1, 64, 56, 56)),
    (lambda: nn.Conv2d(256, 256, 3, padding=1), (1, 256, 14, 14)),
    (lambda: nn.Conv2d(512, 512, 3, padding=1), (1, 512, 7, 7)),
    (lambda: nn.Conv2d(160, 160, (1, 7), padding=(0, 3)), (1, 160, 17, 17)),
    (lambda: nn.Conv2d(64, 64, 3, padding=1, groups=4), (1, 64, 28, 28)),
    (lambda: nn.Conv2d(96, 96, 7, padding=3, groups=96), (1, 96, 28, 28)),
    (lambda: nn.ConvTranspose2d(64, 32, 2, stride=2), (1, 64, 28, 28)),
    (lambda: nn.ConvTranspose2d(32, 32, 3, stride=2, padding=1), (1, 32, 28, 28)),
    (lambda: nn.Conv1d(32, 64, 3, padding=1), (1, 32, 256)),
    *((lambda k=k, n=n: nn.Linear(k, n), (1, k)) for k, n in (
        (16, 16), (64, 12), (128, 128), (640, 128), (128, 640), (256, 1000), (512, 1000), (1280, 1000), (576, 1024),
        (768, 768), (1024, 256), (2048, 1000),
    )),
    *((lambda k=k, n=n: nn.Linear(k, n), (rows, k)) for rows, k, n in (
        (2, 128, 512), (4, 256, 256), (8, 512, 512), (16, 256, 1024), (16, 72, 120), (32, 128, 88),
    )),
    (lambda: Function(lambda data: torch.softmax(data, -1)), (1, 1000)),
    (lambda: Function(lambda data: torch.softmax(data, -1)), (196, 256)),
    (lambda: Function(lambda data: data.permute(0, 2, 3, 1) + 0.5), (1, 64, 56, 56)),
    (lambda: Function(lambda data: data.permute(0, 2, 1) * 2.0), (1, 196, 192)),
    (lambda: Function(lambda data: functional.avg_pool2d(data, 3, stride=2, padding=1)), (1, 64, 28, 28)),
    (lambda: Function(lambda data: data.mean((2, 3))), (1, 512, 7, 7)),
    (lambda: Function(lambda data: torch.cumsum(data, 1)), (64, 256)),
    (lambda: Function(torch.erf), (64, 256)),
    (lambda: Function(lambda data: data.index_select(0, torch.arange(32))), (64, 256)),
    (lambda: Function(lambda data: functional.interpolate(data, scale_factor=2.0, mode="nearest")), (1, 32, 28, 28)),
    (lambda: Function(lambda data: data.repeat(2, 1)), (64, 256)),
)  # fmt: skip


class SingleLayers(nn.Module):  # type: ignore[misc]
    """Layers beside each other, each with an input of its own that an addition has just read."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([build() for build, _ in _SINGLE])
        self.input_shapes = [shape for _, shape in _SINGLE]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return tuple(layer(data + data) for layer, data in zip(self.layers, inputs, strict=True))


def _keep_alive(module: nn.Module, inputs: Sequence[Tensor]) -> None:
    """Scales weights so that each layer keeps the size of its activations, as a trained one does.

    Numbers that vanish or overflow in a long chain would be computed at another speed. (Mishkin and Matas, All you need
    is a good init, ICLR 2016.)
    """
    kinds = (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
    weighted = [each for each in module.modules() if isinstance(each, kinds)]
    for each in weighted:
        nn.init.zeros_(each.bias)
    hooks = [each.register_forward_hook(_scale) for each in weighted]
    with torch.no_grad():
        module(*inputs)
    for hook in hooks:
        hook.remove()


def _scale(layer: Any, _inputs: object, output: Tensor) -> Tensor:
    size = output.std(correction=0)
    layer.weight.data /= size
    return output / size


class _Probe(EagerModelBase):
    """Builds a network once, with inputs that fit and weights that fit those."""

    build: Callable[[], Any]

    def __init__(self) -> None:
        self.network = type(self).build()
        self.inputs = tuple(torch.randn(shape) for shape in self.network.input_shapes)
        _keep_alive(self.network, self.inputs)

    def get_eager_model(self) -> Any:
        return self.network

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return self.inputs


class FirstImageProbe(_Probe):
    build = partial(ImageChain, 1)


class SecondImageProbe(_Probe):
    build = partial(ImageChain, 2)


class TokenProbe(_Probe):
    build = TokenChains


class SingleProbe(_Probe):
    build = SingleLayers
