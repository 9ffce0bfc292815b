"""Segments video frame by frame: convolutions, and attention to a memory of the latest frames."""

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model

SIZE, WIDTH, FRAMES, GRID = 128, 64, 4, 16
TOKENS = GRID * GRID


class TinyVideo(nn.Module):
    """A frame [1, 3, size, size] to a mask [1, 1, size, size]; the features of `FRAMES` frames are remembered."""

    def __init__(self) -> None:
        super().__init__()
        steps = ((3, 16), (16, 32), (32, WIDTH))
        self.encode = nn.Sequential(
            *(layer for a, b in steps for layer in (nn.Conv2d(a, b, 3, stride=2, padding=1), nn.ReLU()))
        )
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.decode = nn.Sequential(
            nn.Conv2d(2 * WIDTH, WIDTH, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(scale_factor=SIZE // GRID, mode="bilinear", align_corners=False),
            nn.Conv2d(WIDTH, 1, 1),
        )
        self.register_buffer("memory", torch.zeros(1, FRAMES * TOKENS, WIDTH), persistent=False)

    def forward(self, frame: Tensor) -> Tensor:
        features = self.encode(frame)
        tokens = features.flatten(2).transpose(1, 2)
        # The oldest frame makes room for the newest.
        self.memory.copy_(torch.cat((self.memory[:, TOKENS:], tokens), dim=1))
        scores = torch.bmm(self.query(tokens), self.key(self.memory).transpose(1, 2)) * WIDTH**-0.5
        recalled = torch.bmm(torch.softmax(scores, dim=-1), self.value(self.memory))
        recalled = recalled.transpose(1, 2).view(features.shape)
        return self.decode(torch.cat((features, recalled), dim=1))


class TinyVideoModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        return TinyVideo()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.randn(1, 3, SIZE, SIZE),)


register_model("tiny_video", TinyVideoModel, description="keeps a memory of 4 frames, 1x3x128x128; no extra package")
