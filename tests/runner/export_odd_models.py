"""Run as a program: exports models that are not one tensor in, one tensor out, or keep state."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

POSITIONS, WIDTH, WORDS = 16, 8, 32


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


class Decoder(torch.nn.Module):  # type: ignore[misc]
    """Writes what it embeds into its cache; its output depends on all that was written."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, WIDTH)
        self.layer = torch.nn.Linear(WIDTH, WIDTH)
        self.register_buffer("cache", torch.zeros(POSITIONS, WIDTH))

    def forward(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, positions, self.embedding(ids)[0])
        result: torch.Tensor = self.layer(self.cache).sum(0, keepdim=True)
        return result


class Decaying(torch.nn.Module):  # type: ignore[misc]
    """Starts with ones and halves them in each inference."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("memory", torch.ones(1, WIDTH))
        self.layer = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, frame: torch.Tensor) -> torch.Tensor:
        self.memory.mul_(0.5)
        result: torch.Tensor = self.layer(frame) + self.memory
        return result


def lower(models: Mapping[str, Any], inputs: Any, config: ExecutorchBackendConfig | None = None, **how: Any) -> bytes:
    exported = {name: torch.export.export(model.eval(), inputs, strict=False, **how) for name, model in models.items()}
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return bytes(edge.to_executorch(config).buffer)


def lower_methods(methods: Mapping[str, Any], config: ExecutorchBackendConfig, **facts: Any) -> bytes:
    edge = to_edge_transform_and_lower(dict(methods), partitioner=[XnnpackPartitioner()], constant_methods=facts)
    return bytes(edge.to_executorch(config).buffer)


def decoder_methods(model: torch.nn.Module, names: tuple[str, ...]) -> dict[str, Any]:
    tokens = torch.export.Dim("tokens", min=1, max=POSITIONS)
    dynamic = torch.zeros(1, 4, dtype=torch.int64), torch.arange(4)
    one = torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    first = torch.export.export(model, dynamic, dynamic_shapes=({1: tokens}, {0: tokens}), strict=False)
    later = {name: torch.export.export(model, one, strict=False) for name in names[1:]}
    return {names[0]: first, **later}


def lower_stateful_models() -> dict[str, bytes]:
    torch.manual_seed(0)
    decoder = Decoder().eval().requires_grad_(False)
    apart = ExecutorchBackendConfig()
    shared = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True))
    started = ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(["memory"])])
    frame = torch.export.export(Decaying().eval().requires_grad_(False), (torch.randn(1, WIDTH),), strict=False)
    two = ("prefill", "decode")
    return {
        "decoder": lower_methods(
            decoder_methods(decoder, ("forward",)), apart, get_max_seq_len=POSITIONS, use_kv_cache=True
        ),
        "shared": lower_methods(decoder_methods(decoder, two), shared),
        "apart": lower_methods(decoder_methods(decoder, two), apart),
        "decaying": lower_methods({"forward": frame}, started),
    }


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
    (folder / "stateful").mkdir()
    for name, program in lower_stateful_models().items():
        (folder / "stateful" / f"{name}.pte").write_bytes(program)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
