"""Run as a program: exports one small model in three precisions into a folder, each with its input and eager output."""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

_SIDE = 32


class SmallNet(torch.nn.Module):  # type: ignore[misc]
    """Convolutions, a matrix product and an addition; small enough to emulate, large enough to time."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.second = torch.nn.Conv2d(32, 64, 3, padding=1)
        self.pointwise = torch.nn.Conv2d(64, 64, 1)
        self.last = torch.nn.Linear(64, 16)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        wide = torch.relu(self.second(torch.relu(self.first(image))))
        mixed = wide + self.pointwise(wide)
        result: torch.Tensor = self.last(mixed.mean((2, 3)))
        return result


class TwoInputs(torch.nn.Module):  # type: ignore[misc]
    """Two inputs and two outputs of different types, none of it delegated."""

    def forward(self, left: torch.Tensor, right: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return left * 2.0, right + 1


class ChannelsLast(torch.nn.Module):  # type: ignore[misc]
    """Takes and gives channels-last memory, so that bytes and elements are ordered differently."""

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image + image


def lower(model: Any, inputs: tuple[torch.Tensor, ...], *, delegate: bool = True) -> bytes:
    partitioner = [XnnpackPartitioner()] if delegate else []
    exported = torch.export.export(model, inputs, strict=False)
    return bytes(to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch().buffer)


def quantize(model: torch.nn.Module, image: torch.Tensor) -> Any:
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, (image,), strict=False).module(), quantizer)
    for _ in range(8):
        prepared(torch.randn_like(image))
    return convert_pt2e(prepared)


def save(folder: Path, name: str, pte: bytes, inputs: tuple[torch.Tensor, ...], expected: Any) -> None:
    outputs = expected if isinstance(expected, tuple) else (expected,)
    (folder / f"{name}.pte").write_bytes(pte)
    for kind, tensors in (("input", inputs), ("expected", outputs)):
        for index, tensor in enumerate(tensors):
            data = tensor.detach().contiguous().numpy().tobytes()
            (folder / f"{name}.{kind}_{index}.bin").write_bytes(data)
    facts = {"inputs": len(inputs), "outputs": [(str(t.dtype).removeprefix("torch."), list(t.shape)) for t in outputs]}
    (folder / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")


def main(folder: Path) -> None:
    torch.manual_seed(0)
    model, image = SmallNet().eval(), torch.randn(1, 3, _SIDE, _SIDE)
    expected = model(image)
    save(folder, "fp32", lower(model, (image,)), (image,), expected)
    half = image.to(torch.float16)
    save(folder, "fp16", lower(copy.deepcopy(model).half(), (half,)), (half,), expected.to(torch.float16))
    save(folder, "int8", lower(quantize(model, image), (image,)), (image,), expected)
    pair = (torch.randn(2, 3), torch.arange(6, dtype=torch.int64).reshape(3, 2))
    save(folder, "pair", lower(TwoInputs(), pair, delegate=False), pair, TwoInputs()(*pair))
    last = (torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last),)
    save(folder, "channels_last", lower(ChannelsLast(), last, delegate=False), last, ChannelsLast()(*last))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
