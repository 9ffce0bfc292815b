"""Run as a program: exports models that are not one tensor in, one tensor out, each with its input."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass


class Counter(torch.nn.Module):  # type: ignore[misc]
    """Counts its inferences, so that each gives another output."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.layer = torch.nn.Linear(8, 8)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        self.count.add_(1.0)
        result: torch.Tensor = self.layer(image) + self.count
        return result


class Layer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.relu(self.layer(rows))
        return result


class Odd(torch.nn.Module):  # type: ignore[misc]
    """Everything a method may give that is not a float tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(8, dtype=torch.int32).to(torch.uint16))

    def forward(self, image: torch.Tensor) -> tuple[Any, ...]:
        return (
            image + image, None, 3, True, 2.5, self.table, image.to(torch.bfloat16),
            (image - image) / (image - image),
        )  # fmt: skip


class Twice(torch.nn.Module):  # type: ignore[misc]
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows * 2.0


def lower(models: Mapping[str, Any], inputs: Any, config: ExecutorchBackendConfig | None = None, **how: Any) -> bytes:
    exported = {name: torch.export.export(model.eval(), inputs, strict=False, **how) for name, model in models.items()}
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return bytes(edge.to_executorch(config).buffer)


def main(folder: Path) -> None:
    torch.manual_seed(0)
    row = (torch.randn(1, 8),)
    rows = torch.export.Dim("rows", min=1, max=16)
    outputs_left_out = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_output=False))
    programs = {
        "counter": lower({"forward": Counter()}, row),
        "dynamic": lower({"forward": Layer()}, (torch.randn(4, 8),), dynamic_shapes=({0: rows},)),
        "odd": lower({"forward": Odd()}, row),
        "unplanned": lower({"forward": Layer()}, row, outputs_left_out),
        "methods": lower({"encode": Layer(), "decode": Twice()}, row),
        "encode_only": lower({"encode": Layer()}, row),
    }
    for name, program in programs.items():
        (folder / f"{name}.pte").write_bytes(program)
        (folder / f"{name}.input_0.bin").write_bytes(row[0].numpy().tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
