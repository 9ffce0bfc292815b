"""Run as a program: exports small models into a folder that hold every kind of compute operator in every precision."""

import copy
import sys
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
from torchao.quantization.granularity import PerAxis
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

_SIDE, _WIDTH = 16, 32


class EveryKind(torch.nn.Module):  # type: ignore[misc]
    """One operator of each kind; small enough to emulate."""

    def __init__(self) -> None:
        super().__init__()
        self.spatial = torch.nn.Conv2d(_WIDTH, _WIDTH, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(_WIDTH, _WIDTH, 3, padding=1, groups=_WIDTH)
        self.pointwise = torch.nn.Conv2d(_WIDTH, _WIDTH, 1)
        self.transposed = torch.nn.ConvTranspose2d(_WIDTH, _WIDTH, 2, stride=2)
        self.linear = torch.nn.Linear(_WIDTH, _WIDTH)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        wide = self.transposed(self.pointwise(self.depthwise(self.spatial(image))))
        rows = wide.flatten(2).transpose(1, 2)
        result: torch.Tensor = self.linear(rows)
        return result


class Products(torch.nn.Module):  # type: ignore[misc]
    """Matrix products: one with weights, one of two activations, one row at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(128, 128)
        self.row = torch.nn.Linear(128, 64)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        wide = self.linear(rows)
        mixed = torch.bmm(wide, wide.transpose(1, 2))
        result: torch.Tensor = self.row(wide[:, 0]) + mixed.mean()
        return result


class OneDominates(torch.nn.Module):  # type: ignore[misc]
    """One convolution takes nearly all of the time."""

    def __init__(self) -> None:
        super().__init__()
        self.large = torch.nn.Conv2d(64, 64, 3, padding=1)
        self.small = torch.nn.Linear(64, 8)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.small(torch.relu(self.large(image)).amax((2, 3)))
        return result


def lower(model: Any, example: torch.Tensor) -> bytes:
    exported = torch.export.export(model, (example,), strict=False)
    return bytes(to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


def quantize(model: torch.nn.Module, example: torch.Tensor, *, per_channel: bool, dynamic: bool = False) -> Any:
    config = get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
    prepared = prepare_pt2e(
        torch.export.export(model, (example,), strict=False).module(), XNNPACKQuantizer().set_global(config)
    )
    for _ in range(4):
        prepared(torch.randn_like(example))
    return convert_pt2e(prepared)


def save(folder: Path, name: str, model: Any, example: torch.Tensor) -> None:
    (folder / f"{name}.pte").write_bytes(lower(model, example))
    (folder / f"{name}.input_0.bin").write_bytes(example.contiguous().numpy().tobytes())


def main(folder: Path, *wanted: str) -> None:
    torch.manual_seed(0)
    image, rows = torch.randn(1, _WIDTH, _SIDE, _SIDE), torch.randn(1, 64, 128)
    kinds, products = EveryKind().eval(), Products().eval()
    four_bit = copy.deepcopy(products)
    quantize_(four_bit, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerAxis(0)))
    builders = {
        "kinds_fp32": lambda: (kinds, image),
        "kinds_fp16": lambda: (copy.deepcopy(kinds).half(), image.half()),
        "kinds_int8": lambda: (quantize(kinds, image, per_channel=True), image),
        "kinds_int8_tensor": lambda: (quantize(kinds, image, per_channel=False), image),
        "products_fp32": lambda: (products, rows),
        "products_fp16": lambda: (copy.deepcopy(products).half(), rows.half()),
        "products_dynamic": lambda: (quantize(products, rows, per_channel=True, dynamic=True), rows),
        "products_int4": lambda: (four_bit, rows),
        "dominated": lambda: (OneDominates().eval(), torch.randn(1, 64, 56, 56)),
    }
    for name in wanted or builders:
        save(folder, name, *builders[name]())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
