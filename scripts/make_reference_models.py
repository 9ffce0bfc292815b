"""Writes the reference models of self-tests, their input and the outputs of their eager forms; needs torch.

Usage: python scripts/make_reference_models.py [FOLDER]     default: the package's own
"""

import sys
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

import etprof

PACKAGE_FOLDER = Path(etprof.__file__).parent / "app" / "reference_models"
_SIDE, _CHANNELS, _WIDTH, _CLASSES = 32, 8, 32, 16


class Reference(torch.nn.Module):  # type: ignore[misc]
    """Convolutions take most of its time, so that they are sampled; small enough to be emulated."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(_CHANNELS, _WIDTH, 3, padding=1)
        self.spatial = torch.nn.Conv2d(_WIDTH, _WIDTH, 3, padding=1)
        self.pointwise = torch.nn.Conv2d(_WIDTH, _WIDTH, 1)
        self.head = torch.nn.Linear(_WIDTH, _CLASSES)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        wide = torch.relu(self.pointwise(torch.relu(self.spatial(torch.relu(self.stem(image))))))
        result: torch.Tensor = self.head(wide.mean((2, 3)))
        return result


def save(folder: Path, name: str, model: Any, image: torch.Tensor) -> None:
    exported = torch.export.export(model, (image,), strict=False)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    (folder / f"{name}.pte").write_bytes(bytes(lowered.buffer))
    (folder / f"{name}.output_0.bin").write_bytes(model(image).detach().contiguous().numpy().tobytes())


def quantize(model: torch.nn.Module, image: torch.Tensor) -> Any:
    config = get_symmetric_quantization_config(is_per_channel=True)
    prepared = prepare_pt2e(
        torch.export.export(model, (image,), strict=False).module(), XNNPACKQuantizer().set_global(config)
    )
    for _ in range(8):
        prepared(torch.randn_like(image))
    return convert_pt2e(prepared)


def main(folder: Path = PACKAGE_FOLDER) -> None:
    torch.manual_seed(0)
    model, image = Reference().eval(), torch.randn(1, _CHANNELS, _SIDE, _SIDE)
    (folder / "input_0.bin").write_bytes(image.numpy().tobytes())
    with torch.no_grad():
        save(folder, "fp32", model, image)
        save(folder, "int8", quantize(model, image), image)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
