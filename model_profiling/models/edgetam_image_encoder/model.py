"""EdgeTAM's image encoder (RepViT and a feature pyramid, from transformers and timm) at 1x3x1024x1024.

Each edit that makes it exportable, wholly delegated and sound in fp16 is explained where it is made;
docs/guides/add-a-model.md tells the story.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.random_weights import settle_batch_norm
from etprof.export.registry import register_model

SIZE = 1024
PIXEL_MEAN, PIXEL_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CHECKPOINT_PREFIX = "vision_encoder."


class ImageEncoder(nn.Module):
    """Pixels from 0 to 1 in, three feature maps out.

    The normalisation belongs to the model, so that a runner feeds plain pixels, and what an exported program returns
    are tensors, not the dataclass that transformers returns.
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.register_buffer("mean", torch.tensor(PIXEL_MEAN).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("scale", 1 / torch.tensor(PIXEL_STD).view(1, 3, 1, 1), persistent=False)

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.encoder((pixels - self.mean) * self.scale).fpn_hidden_states)


class FeaturePyramid(nn.Module):
    """The neck of the encoder with the same weights, without position encodings and without upsample_nearest2d.

    XNNPACK has no nearest-neighbour resize, so the original falls apart into two partitions around it, and it casts to
    fp32 and back. Doubling each pixel by two concatenations gives the same values and stays in the delegate.
    """

    def __init__(self, neck: Any) -> None:
        super().__init__()
        self.convs = neck.convs
        self.top_down_levels = frozenset(neck.fpn_top_down_levels)

    def forward(self, stages: list[Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        last = len(stages) - 1
        maps: list[Tensor] = []
        for level in range(last, -1, -1):
            lateral = self.convs[last - level](stages[level].permute(0, 3, 1, 2))
            from_above = level in self.top_down_levels and level != last
            maps.append(lateral + double(maps[-1]) if from_above else lateral)
        return tuple(maps), ()


def double(features: Tensor) -> Tensor:
    """Nearest-neighbour upsampling by two. The partitioner counts a tensor that is concatenated with itself once."""
    batch, channels, height, width = features.shape
    columns = features.view(batch, channels, height, width, 1)
    wide = torch.cat([columns, columns.clone()], dim=4).view(batch, channels, height, 1, 2 * width)
    return torch.cat([wide, wide.clone()], dim=3).view(batch, channels, 2 * height, 2 * width)


def build_encoder() -> Any:
    from transformers import EdgeTamVisionConfig, EdgeTamVisionModel, TimmWrapperConfig

    # The default configuration misspells a key of the backbone and builds another network without saying so.
    backbone = TimmWrapperConfig(
        architecture="repvit_m1", model_args={"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]}
    )
    return EdgeTamVisionModel(EdgeTamVisionConfig(backbone_config=backbone)).eval()


class Gelu(nn.Module):
    """GELU, in fp16 in its tanh form and spelled out.

    XNNPACK's partitioner refuses gelu in fp16, which would leave 27 islands; these operators it takes. Spelled out,
    because nn.GELU(approximate="tanh") is the same operator to it. In other precisions gelu is one operator of
    XNNPACK instead of eight.
    """

    def __init__(self) -> None:
        super().__init__()
        # Buffers, because they become fp16 with the model; a number would be cast at run time, outside the delegate.
        self.register_buffer("linear", torch.tensor(0.7978845608), persistent=False)
        self.register_buffer("cubic", torch.tensor(0.7978845608 * 0.044715), persistent=False)
        self.register_buffer("middle", torch.tensor(0.5), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        # A capture sees one type only, so the exported graph has one of the two and no condition.
        if features.dtype != torch.float16:
            return nn.functional.gelu(features)
        inner = features * (self.linear + self.cubic * features * features)
        return features * (self.middle + self.middle * torch.tanh(inner))


def replace_gelu(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.GELU):
            setattr(module, name, Gelu())
        else:
            replace_gelu(child)


def bring_to_life(encoder: nn.Module) -> None:
    """Random weights that keep the signal's size; those transformers starts with fade to zeros in fp16."""
    for module in encoder.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="linear")
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
    settle_batch_norm(encoder, (torch.randn(1, 3, SIZE // 2, SIZE // 2),))


class EdgeTamImageEncoderModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        encoder = build_encoder()
        encoder.neck = FeaturePyramid(encoder.neck)
        replace_gelu(encoder)
        bring_to_life(encoder)
        return ImageEncoder(encoder)

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.rand(1, 3, SIZE, SIZE),)

    def adapt_checkpoint(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """Takes the encoder's part out of a checkpoint of the whole of EdgeTAM."""
        inner = {k.removeprefix(CHECKPOINT_PREFIX): v for k, v in state.items() if k.startswith(CHECKPOINT_PREFIX)}
        return {f"encoder.{key}": value for key, value in (inner or state).items()}


register_model(
    "edgetam_image_encoder",
    EdgeTamImageEncoderModel,
    requires=("torchvision", "timm", "transformers"),
    description="RepViT and a feature pyramid, 1x3x1024x1024",
)
