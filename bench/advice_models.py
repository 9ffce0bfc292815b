"""Pairs of small models: one that a rule of advice applies to, and the same with the change that the rule advises."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

Build = Callable[[], nn.Module]
_IMAGE = (1, 32, 64, 64)
_TOKENS = (1, 196, 192)


@dataclass(frozen=True)
class Pair:
    """`items` is how many inputs an inference of the changed model processes; `change` says what was done."""

    rule: str
    change: str
    before: Build
    after: Build
    shape: tuple[int, ...] = _IMAGE
    after_shape: tuple[int, ...] = ()
    dtype: str = "fp32"
    quantised: bool = False
    after_in_place: bool = False
    items: int = 1


class Function(nn.Module):  # type: ignore[misc]
    """Layers, and how they are put together."""

    def __init__(self, forward: Callable[..., Tensor], **layers: nn.Module) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(layers)
        self._forward = forward

    def forward(self, x: Tensor) -> Tensor:
        return self._forward(x, **self.layers)


def conv(
    inputs: int = 32, outputs: int = 32, kernel: int = 3, *, groups: int = 1, padding: int | None = None
) -> nn.Module:
    return nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2 if padding is None else padding, groups=groups)


def between_convolutions(inner: Callable[[Tensor], Tensor]) -> Build:
    return lambda: Function(lambda x, a, b: b(inner(a(x))), a=conv(kernel=1), b=conv(kernel=1))


def three_times(inner: Callable[[Tensor], Tensor], channels: int = 32) -> Build:
    def forward(x: Tensor, a: nn.Module, b: nn.Module, c: nn.Module) -> Tensor:
        return inner(c(inner(b(inner(a(x))))))

    return lambda: Function(forward, **{name: conv(channels, channels, 1) for name in "abc"})


def spelled_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


class DelegatedLayerNorm(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.full((1, width), 1 / width))

    def forward(self, x: Tensor) -> Tensor:
        centred = x - functional.linear(x, self.mean)
        variance = functional.linear(centred * centred, self.mean)
        return centred * torch.rsqrt(variance + 1e-5) * self.weight + self.bias


def normalised(norm: Callable[[int], nn.Module]) -> Build:
    def forward(x: Tensor, n: nn.Module, a: nn.Module, m: nn.Module, b: nn.Module) -> Tensor:
        return b(m(a(n(x))))

    return lambda: Function(forward, n=norm(192), a=nn.Linear(192, 192), m=norm(192), b=nn.Linear(192, 192))


class TwoWeights(nn.Module):  # type: ignore[misc]
    """A product with a product of parameters, which is computed in each inference."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(1, 192, 192) / 14), nn.Parameter(torch.randn(1, 192, 192) / 14)
        self.scale = nn.Parameter(torch.ones(1, 192, 192))

    def forward(self, x: Tensor) -> Tensor:
        return torch.bmm(x, torch.bmm(self.a * self.scale, self.b))


class Scaled(nn.Module):  # type: ignore[misc]
    """A factor for each channel between two convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = conv(kernel=1), conv(kernel=1)
        self.scale = nn.Parameter(torch.rand(1, 32, 1, 1) + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x) * self.scale)


class Normalised(Scaled):
    """A batch normalisation between them, spelled out."""

    def forward(self, x: Tensor) -> Tensor:
        return self.second(((self.first(x) - self.scale) * self.scale) * self.scale + self.scale)


class Remembering(nn.Module):  # type: ignore[misc]
    """Keeps rows of its inputs, as an attention keeps keys."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(192, 16)
        self.register_buffer("rows", torch.zeros(1, 512, 192))
        self.register_buffer("places", torch.arange(8))

    def forward(self, x: Tensor) -> Tensor:
        self.rows.index_copy_(1, self.places, x)
        return self.layer(self.rows)


def one_row_at_a_time(x: Tensor, a: nn.Module) -> Tensor:
    return torch.cat([a(x[:, i]) for i in range(x.shape[1])], dim=0)


def resized(x: Tensor) -> Tensor:
    return functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


PAIRS = (
    Pair(
        "cancelling-transposes", "one layout around a sigmoid",
        between_convolutions(lambda x: torch.sigmoid(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)),
        between_convolutions(torch.sigmoid),
    ),
    Pair(
        "border-layout-changes", "flip before the first convolution instead of the second",
        between_convolutions(lambda x: torch.flip(x, [3])),
        lambda: Function(lambda x, a, b: b(a(torch.flip(x, [3]))), a=conv(kernel=1), b=conv(kernel=1)),
    ),
    Pair(
        "cut-partitions", "ELU spelled out", three_times(functional.elu),
        three_times(lambda x: functional.relu(x) + torch.exp(torch.clamp(x, max=0.0)) - 1.0), (1, 32, 16, 16),
    ),
    Pair(
        "fp16-fallback", "GELU spelled out", three_times(functional.gelu), three_times(spelled_gelu), dtype="fp16",
    ),
    Pair(
        "portable-gather", "slices instead of an index",
        between_convolutions(lambda x: x[:, [*range(16, 32), *range(16)]]),
        between_convolutions(lambda x: torch.cat([x[:, 16:], x[:, :16]], 1)),
    ),
    Pair(
        "portable-gather", "step of the convolution instead of an index",
        between_convolutions(lambda x: x[:, :, [*range(0, 64, 2)]][:, :, :, [*range(0, 64, 2)]]),
        lambda: Function(lambda x, a, b: b(a(x)), a=conv(kernel=1), b=nn.Conv2d(32, 32, 1, stride=2)),
    ),
    Pair(
        "portable-normalisation", "layer norm with means as linear layers", normalised(nn.LayerNorm),
        normalised(DelegatedLayerNorm), _TOKENS,
    ),
    Pair(
        "portable-operators", "bilinear instead of nearest resize",
        between_convolutions(lambda x: functional.interpolate(x, scale_factor=2.0, mode="nearest")),
        between_convolutions(resized), (1, 32, 32, 32),
    ),
    Pair(
        "transposes", "none around a 1x1 convolution",
        lambda: Function(
            lambda x, a, b: b(a(x).transpose(2, 3)).transpose(2, 3), a=conv(kernel=1), b=conv(kernel=1)
        ),
        between_convolutions(lambda x: x),
    ),
    Pair(
        "data-movement", "half of the tokens taken once instead of twice",
        lambda: Function(lambda x, a, b: a(x[:, :98]) + b(x[:, :98]), a=nn.Linear(192, 16), b=nn.Linear(192, 16)),
        lambda: Function(lambda x, a, b: a(half := x[:, :98]) + b(half), a=nn.Linear(192, 16), b=nn.Linear(192, 16)),
        _TOKENS,
    ),
    Pair(
        "elementwise", "scale folded into the weights", Scaled, between_convolutions(lambda x: x),
    ),
    Pair(
        "elementwise-chains", "batch normalisation folded into the weights", Normalised,
        between_convolutions(lambda x: x),
    ),
    Pair(
        "elementwise-chains", "hardswish instead of its four operators",
        between_convolutions(lambda x: x * torch.clamp(x + 3.0, 0.0, 6.0) / 6.0),
        between_convolutions(functional.hardswish),
    ),
    Pair("costly-activations", "ReLU instead of GELU", three_times(functional.gelu), three_times(functional.relu)),
    Pair(
        "resizes", "sum before the resize",
        lambda: Function(lambda x, a, b: resized(a(x)) + resized(b(x)), a=conv(kernel=1), b=conv(kernel=1)),
        lambda: Function(lambda x, a, b: resized(a(x) + b(x)), a=conv(kernel=1), b=conv(kernel=1)),
    ),
    Pair(
        "pads", "padding of the convolutions",
        lambda: Function(
            lambda x, a, b: a(p := functional.pad(x, (1, 1, 1, 1))) + b(p),
            a=conv(32, 4, padding=0), b=conv(32, 4, padding=0),
        ),
        lambda: Function(lambda x, a, b: a(x) + b(x), a=conv(32, 4), b=conv(32, 4)),
    ),
    Pair(
        "state-copies", "exported with the state in its place", Remembering, Remembering, (1, 8, 192),
        after_in_place=True,
    ),
    Pair(
        "quantisation-islands", "divisor folded into the weights", between_convolutions(lambda x: x / 1.7),
        between_convolutions(lambda x: x), quantised=True,
    ),
    Pair(
        "concatenation-copies", "two 1x1 convolutions and a sum",
        lambda: Function(
            lambda x, a, b, c: c(torch.cat([a(x), b(x)], 1)), a=conv(kernel=1), b=conv(kernel=1), c=conv(64, 8, 1)
        ),
        lambda: Function(
            lambda x, a, b, c, d: c(a(x)) + d(b(x)),
            a=conv(kernel=1), b=conv(kernel=1), c=conv(32, 8, 1), d=conv(32, 8, 1),
        ),
    ),
    Pair(
        "softmax-share", "no softmax behind the classifier",
        lambda: Function(lambda x, a: torch.softmax(a(x), -1), a=nn.Linear(64, 4000)),
        lambda: Function(lambda x, a: a(x), a=nn.Linear(64, 4000)), (16, 64),
    ),
    Pair(
        "depthwise-share", "window of 3x3 instead of 7x7",
        lambda: Function(lambda x, a, b: b(a(x)), a=conv(kernel=7, groups=32), b=conv(kernel=1)),
        lambda: Function(lambda x, a, b: b(a(x)), a=conv(kernel=3, groups=32), b=conv(kernel=1)),
    ),
    Pair(
        "dynamic-matmul", "product of the parameters computed beforehand", TwoWeights,
        lambda: Function(lambda x, a: a(x), a=nn.Linear(192, 192, bias=False)), _TOKENS,
    ),
    Pair(
        "one-row-products", "all rows in one product",
        lambda: Function(one_row_at_a_time, a=nn.Linear(512, 512)),
        lambda: Function(lambda x, a: a(x), a=nn.Linear(512, 512)), (1, 16, 512),
    ),
    Pair(
        "small-model", "16 inputs in one inference",
        lambda: Function(lambda x, a: functional.relu(a(x)), a=conv(4, 4)),
        lambda: Function(lambda x, a: functional.relu(a(x)), a=conv(4, 4)), (1, 4, 8, 8), (16, 4, 8, 8), items=16,
    ),
    Pair(
        "largest-operator", "96 instead of 128 channels",
        lambda: Function(lambda x, a, b: b(a(x)), a=conv(32, 128), b=conv(128, 32)),
        lambda: Function(lambda x, a, b: b(a(x)), a=conv(32, 96), b=conv(96, 32)),
    ),
    Pair(
        "largest-kind", "24 instead of 32 channels", three_times(functional.relu), three_times(functional.relu, 24),
        after_shape=(1, 24, 64, 64),
    ),
)  # fmt: skip
# Rules whose change was not measured, and why.
NOT_MEASURED = {
    "per-tensor-linear": "about Arm kernels",
    "groupwise-4bit": "about Arm kernels",
    "padded-tiles": "about Arm kernels",
    "threads-over-sme-units": "about Arm kernels",
    "left-behind": "says where to look, not what to change",
    "delegate-overhead": "its change is that of `cut-partitions`, which saves the operator too",
    "framework-overhead": "its change is that of `portable-operators`, which saves the operator too",
    "slow-first-inference": "the time itself: it is moved to the start of the application",
    "slow-load": "the time itself: it is moved to the start of the application",
    "debug-runner": "needs a debug build of ExecuTorch",
}
