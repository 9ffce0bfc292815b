"""MobileNetV3-Small as torchvision defines it, at 224x224."""

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.random_weights import settle_batch_norm
from etprof.export.registry import register_model


class HardSigmoid(nn.Module):
    """The same function as nn.Hardsigmoid, in operators that XNNPACK takes.

    ExecuTorch breaks hardsigmoid into operators with casts between them, which stay outside the delegate: 19 partitions
    in fp16 instead of one. The constants are buffers, because those become fp16 with the model.
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("slope", torch.tensor(1 / 6), persistent=False)
        self.register_buffer("middle", torch.tensor(0.5), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        return torch.clamp(features * self.slope + self.middle, 0.0, 1.0)


def replace_hardsigmoid(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, nn.Hardsigmoid):
            setattr(module, name, HardSigmoid())
        else:
            replace_hardsigmoid(child)


class MobileNetV3SmallModel(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        from torchvision.models import mobilenet_v3_small

        network: nn.Module = mobilenet_v3_small(weights=None).eval()
        replace_hardsigmoid(network)
        settle_batch_norm(network, (torch.randn(4, 3, 224, 224),))
        return network

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.randn(1, 3, 224, 224),)


register_model(
    "mobilenet_v3_small", MobileNetV3SmallModel, requires=("torchvision",), description="torchvision, 1x3x224x224"
)
