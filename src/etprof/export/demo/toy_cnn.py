"""The toy network: convolutions, GEMMs, elementwise work and layout changes, a few milliseconds for all of it."""

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase

SIZE = 256
WIDTH = 16
WINDOW = 8


class ToyCnn(nn.Module):
    """A convolutional stem, a channel shuffle, a linear layer over windows of pixels, and a classifier.

    The shuffle, the windows and the concatenation are data movement as real models have it: a faster matrix unit does
    not shorten them, so their share grows when the convolutions become faster.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 3, stride=2, padding=1)
        self.conv = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.token = nn.Linear(2 * WIDTH, 2 * WIDTH)
        self.reduce = nn.Conv2d(2 * WIDTH, 2 * WIDTH, 3, stride=2)
        self.mix = nn.Conv2d(2 * WIDTH, 2 * WIDTH, 1)
        self.head = nn.Linear(2 * WIDTH, 10)

    def forward(self, image: Tensor) -> Tensor:
        first = torch.relu(self.stem(image))
        both = torch.cat([first, torch.relu(self.conv(first))], dim=1)
        windows = split_windows(shuffle_channels(both))
        joined = join_windows(windows + nn.functional.hardswish(self.token(windows)))
        reduced = torch.relu(self.reduce(nn.functional.pad(shuffle_channels(joined), (1, 1, 1, 1))))
        mixed = torch.sigmoid(self.mix(reduced)) * reduced
        return self.head(mixed.mean((2, 3), keepdim=True).flatten(1))


def shuffle_channels(features: Tensor) -> Tensor:
    batch, channels, height, width = features.shape
    grouped = features.view(batch, 2, channels // 2, height, width)
    return grouped.permute(0, 2, 1, 3, 4).reshape(batch, channels, height, width)


def split_windows(features: Tensor) -> Tensor:
    """[batch, channels, height, width] to [windows, pixels of a window, channels]."""
    _, channels, height, width = features.shape
    tiles = features.view(channels, height // WINDOW, WINDOW, width // WINDOW, WINDOW)
    return tiles.permute(1, 3, 2, 4, 0).reshape(-1, WINDOW * WINDOW, channels)


def join_windows(windows: Tensor) -> Tensor:
    count, _, channels = windows.shape
    side = int(count**0.5)
    tiles = windows.view(side, side, WINDOW, WINDOW, channels)
    return tiles.permute(4, 0, 2, 1, 3).reshape(1, channels, side * WINDOW, side * WINDOW)


class ToyCnnModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        return ToyCnn()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.randn(1, 3, SIZE, SIZE),)
