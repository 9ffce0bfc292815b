"""timm's FastViT-T8 as it stands, with random weights, at 1x3x128x128."""

import torch
from torch import Tensor, nn

from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model


class FastViT(EagerModelBase):
    def get_eager_model(self) -> nn.Module:
        import timm

        model: nn.Module = timm.create_model("fastvit_t8", pretrained=False)
        return model.eval()

    def get_example_inputs(self) -> tuple[Tensor, ...]:
        return (torch.randn(1, 3, 128, 128),)


register_model("fastvit_t8", FastViT, requires=("timm",), description="FastViT-T8 for the sample reports")
