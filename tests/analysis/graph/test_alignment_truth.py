"""The alignment against the truth, on models whose every stage stands between two operators that occur only once.

A trace shows a marker such as TanH or Floor by name, so which stage an event belongs to is known without the
alignment; a mapping into another stage would be wrong.
"""

import random
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from etprof.analysis.graph.alignment import align_operators
from etprof.analysis.graph.event_patterns import plain_event
from etprof.analysis.operators.operator_statistics import collect_operators
from etprof.core.graph import ModelGraph
from etprof.core.model import Delegation
from etprof.core.trace import Trace
from etprof.export.graph_file import load_graph, save_graph
from etprof.traces.etdump import read_etdump
from parts import need

SHAPES = {"image": (1, 8, 8, 8), "sequence": (8, 8, 8)}
MARKERS = {
    "sigmoid": ("XNNSigmoid", "Sigmoid"),
    "tanh": ("XNNTanh", "TanH"),
    "abs": ("XNNAbs", "Abs"),
    "floor": ("XNNFloor", "Floor"),
    "ceil": ("XNNCeiling", "Ceiling"),
    "exp": ("XNNExp", "Exp"),
    "neg": ("XNNNegate", "Negate"),
    "sin": ("XNNSin", "Sine"),
    "cos": ("XNNCos", "Cosine"),
}
SIZE = 8


def build_model(seed: int, kind: str) -> Any:
    """A chain of stages in random order, each followed by its marker."""
    import torch
    from torch import nn

    rng = random.Random(seed)
    stages = list_image_stages() if kind == "image" else list_sequence_stages()
    rng.shuffle(stages)
    functions = rng.sample(sorted(MARKERS), len(stages))
    markers = [make_stage(getattr(torch, function)) for function in functions]
    return nn.Sequential(*(each for pair in zip(stages, markers, strict=True) for each in pair)).eval()


def make_stage(code: Callable[..., Any], *layers: Any) -> Any:
    """A module that does what the code says with its input and these layers."""
    from torch import nn

    class Stage(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x: Any) -> Any:
            return code(x, *self.layers)

    return Stage()


def list_image_stages() -> list[Any]:
    import torch
    from torch import nn

    def convolution(kernel: int, groups: int = 1) -> Any:
        return nn.Conv2d(SIZE, SIZE, kernel, padding=kernel // 2, groups=groups)

    return [
        nn.Sequential(convolution(3), nn.ReLU()),
        nn.Sequential(convolution(1), nn.ReLU6()),
        convolution(3, groups=SIZE),
        nn.Sequential(convolution(1), nn.Hardtanh(-0.5, 0.5), nn.Hardtanh(-0.4, 0.4)),
        make_stage(lambda x, layer: torch.relu(x + layer(x)), convolution(3)),
        make_stage(lambda x, layer: x + layer(x), convolution(3)),
        make_stage(lambda x: x.reshape(1, 2, SIZE // 2, SIZE, SIZE).transpose(1, 2).reshape(1, SIZE, SIZE, SIZE)),
        nn.Sequential(nn.MaxPool2d(2), nn.UpsamplingBilinear2d(scale_factor=2)),
        nn.ReLU(),
    ]


def list_sequence_stages() -> list[Any]:
    import torch
    from torch import nn

    def turn(x: Any) -> Any:
        return x.reshape(SIZE * SIZE, SIZE).reshape(SIZE, SIZE, SIZE).permute(1, 0, 2)

    return [
        nn.Sequential(nn.Linear(SIZE, SIZE), nn.ReLU()),
        nn.Linear(SIZE, SIZE),
        make_stage(lambda x, layer: torch.relu(x + layer(x)), nn.Linear(SIZE, SIZE)),
        make_stage(lambda x: torch.bmm(x, x.transpose(1, 2))),
        make_stage(lambda x, q, k: torch.bmm(turn(q(x)), turn(k(x)).transpose(1, 2)), *(nn.Linear(SIZE, SIZE),) * 2),
        make_stage(lambda x: torch.softmax(x, -1)),
        make_stage(turn),
        make_stage(lambda x: torch.cat([x[:, :4], x[:, 4:]], 1)),
        nn.Hardtanh(-0.5, 0.5),
    ]


def number_stages(kinds: list[str], markers: set[str]) -> list[int]:
    """The stage of each item: how many markers came before it."""
    stages, count = [], 0
    for kind in kinds:
        stages.append(count)
        count += kind in markers
    return stages


def record(model: Any, shape: tuple[int, ...], folder: Path) -> tuple[Trace, ModelGraph]:
    """The trace of one inference, and the graph as an export leaves it behind."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings import _C

    from etprof.export.graph import build_graph
    from etprof.export.lowering import Lowered, observe

    example = torch.randn(*shape)
    captured = torch.export.export(model, (example,), strict=False)
    with observe() as observed:
        edge = to_edge_transform_and_lower(captured, partitioner=[XnnpackPartitioner()])
    program = edge.to_executorch()
    (folder / "m.pte").write_bytes(program.buffer)
    loaded = _C._load_program(str(folder / "m.pte"), enable_etdump=True)
    method = loaded.load_method("forward")
    method.set_inputs([example])
    method.execute()
    loaded.write_etdump_result_to_file(str(folder / "m.etdump"), str(folder / "debug"))
    lowered = Lowered(captured, edge, program, observed, Delegation(1, 0, 0, 1.0, {}, ()))
    save_graph(folder / "m.graph.json", build_graph("m", lowered))
    return read_etdump(folder / "m.etdump"), load_graph(folder / "m.graph.json")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(2, 8))])
@pytest.mark.parametrize("kind", SHAPES)
def test_no_event_is_mapped_into_another_stage(kind: str, seed: int, tmp_path: Path) -> None:
    need(find_spec("torch") and find_spec("executorch"), "torch and executorch are not installed")
    trace, graph = record(build_model(seed, kind), SHAPES[kind], tmp_path)
    mapped = events_seen = 0
    for alignment in (a for a in align_operators(collect_operators([trace]), graph) if a.call >= 0):
        nodes = graph.partitions[alignment.call]
        stage_of_node = number_stages([each.type for each in nodes], {node for node, _ in MARKERS.values()})
        events = [plain_event(name) for name in alignment.names]
        stage_of_event = number_stages(events, {event for _, event in MARKERS.values()})
        events_seen += len(events)
        for stage, found in zip(stage_of_event, alignment.nodes, strict=True):
            if found is not None:
                mapped += 1
                assert stage_of_node[found.index] == stage, (alignment.names, found)
    # Each of the nine stages has its marker. All tensors of a sequence model have one shape: where the graph does not
    # number them, some stay open.
    assert events_seen >= 2 * len(MARKERS) - 2
    assert mapped >= 0.8 * events_seen
