"""A vision transformer of 5.5 million parameters (192 wide, 12 deep, 3 heads, patches of 16), in plain torch."""

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model

SIZE, PATCH, WIDTH, DEPTH, HEADS = 224, 16, 192, 12, 3


class Attention(nn.Module):
    """Self-attention as plain products of three-dimensional tensors, heads in front.

    XNNPACK takes these whole. The fused operator, and products of four-dimensional tensors, bring expand and squeeze
    with them, which it leaves out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.project = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("scale", torch.tensor((WIDTH // HEADS) ** -0.5), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = (split_heads(layer(tokens)) for layer in (self.query, self.key, self.value))
        weights = torch.softmax(torch.bmm(query, key.transpose(1, 2)) * self.scale, dim=-1)
        return self.project(torch.bmm(weights, value).transpose(0, 1).reshape(1, -1, WIDTH))


def split_heads(tokens: Tensor) -> Tensor:
    """[1, tokens, width] to [heads, tokens, width of a head]."""
    return tokens.view(-1, HEADS, WIDTH // HEADS).transpose(0, 1)


class QuickGelu(nn.Module):
    """The sigmoid form of GELU: XNNPACK refuses gelu in fp16, and takes this."""

    def __init__(self) -> None:
        super().__init__()
        # A buffer becomes fp16 with the model; a number would be cast at run time, outside the delegate.
        self.register_buffer("slope", torch.tensor(1.702), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        return features * torch.sigmoid(self.slope * features)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), QuickGelu(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.attention(self.norm1(tokens))
        return tokens + self.mlp(self.norm2(tokens))


class VitTiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.position = nn.Parameter(torch.randn(1, (SIZE // PATCH) ** 2, WIDTH) * 0.02)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 1000)

    def forward(self, image: Tensor) -> Tensor:
        patches = self.patches(image)
        tokens = self.norm(self.blocks(patches.flatten(2).transpose(1, 2) + self.position))
        # A mean over the two last dimensions of an image is the one XNNPACK takes.
        pooled = tokens.transpose(1, 2).view(patches.shape).mean((2, 3), keepdim=True)
        return self.head(pooled.flatten(1))


class VitTinyModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        return VitTiny()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.randn(1, 3, SIZE, SIZE),)


register_model("vit_tiny", VitTinyModel, description="transformer, GEMM-bound, 1x3x224x224; no extra package")
