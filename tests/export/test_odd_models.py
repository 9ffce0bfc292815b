"""Models with state, a dynamic shape and outputs that are no tensors, exported for real."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from etprof.core.errors import ExportError
from etprof.core.layout import graph_path
from etprof.core.model import TensorInfo
from etprof.export.exporter import ExportRequest, export_model
from etprof.export.graph_file import load_graph
from etprof.export.numerics import compare_outputs
from etprof.export.registry import find_model
from etprof.export.source import build_model, unchanged_buffers
from etprof.traces.program import read_program

ODD = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.full((1,), 5.0))
            self.register_buffer("total", torch.zeros(1, 8))
            self.layer = nn.Linear(8, 8)

        def forward(self, rows):
            self.count.add_(1.0)
            self.total = self.total + rows.sum(0, keepdim=True)
            return self.layer(rows) + self.count + self.total, None, 3, True, 2.5

    class Model(EagerModelBase):
        def get_eager_model(self):
            return Net()

        def get_example_inputs(self):
            return (torch.randn(4, 8),)

        def get_dynamic_shapes(self):
            return ({0: torch.export.Dim("rows", min=1, max=16)},)
"""


def test_state_begins_as_in_the_eager_model_and_odd_outputs_break_nothing(
    write_model: Callable[[str, str], Path], models_dir: Path, tmp_path: Path
) -> None:
    write_model("odd", ODD)
    artifact = export_model(ExportRequest("odd", models_dir=models_dir, outdir=tmp_path / "out"))
    # Begun with zeros, or after the reference run, `count` would be another and the export refused.
    assert artifact.meta.numerics.worst_snr_db is None or artifact.meta.numerics.worst_snr_db > 100
    assert artifact.meta.outputs == (
        TensorInfo((4, 8), "float32"), TensorInfo((), "none"), TensorInfo((), "int"), TensorInfo((), "bool"),
        TensorInfo((), "float"),
    )  # fmt: skip
    (method,) = read_program(artifact.pte).methods
    assert [tensor.name for tensor in method.state] == ["count", "total"]
    assert [each.label for each in method.inputs if not isinstance(each, str)] == ["float32 [at most 16, 8]"]
    assert artifact.meta.inputs[0].shape == (4, 8)


REMEMBERING = """
    class Memory(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", torch.zeros(1, 64, 8))

        def forward(self, x, places):
            self.rows.index_copy_(1, places, x)
            return self.rows

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.memory, self.layer = Memory(), nn.Linear(8, 8)

        def forward(self, x, places):
            return self.layer(self.memory(x, places))

    class Model(EagerModelBase):
        def get_eager_model(self):
            return Net()

        def get_example_inputs(self):
            return torch.randn(1, 2, 8), torch.tensor([3, 5])
"""


@pytest.mark.parametrize(
    ("in_place", "operators"), [(False, ["aten::index_put.out", "aten::copy_"]), (True, ["aten::index_put_"])]
)
def test_state_is_copied_back_or_changed_in_its_place(
    write_model: Callable[[str, str], Path], models_dir: Path, tmp_path: Path, in_place: bool, operators: list[str]
) -> None:
    write_model("remembering", REMEMBERING)
    request = ExportRequest("remembering", models_dir=models_dir, outdir=tmp_path / "out", state_in_place=in_place)
    # It ran, and gave what the eager model does: an export that does not is refused.
    artifact = export_model(request)
    left = load_graph(graph_path(artifact.pte)).undelegated
    assert [node.type for node in left] == operators
    assert {node.module_path for node in left} == {"memory"}
    assert (artifact.meta.settings or {}).get("state_in_place", False) is in_place


def test_numbers_are_compared_and_what_is_no_number_has_to_be_the_same() -> None:
    errors = compare_outputs([torch.ones(2), None, 3, True, "words"], [torch.ones(2), None, 3, True, "words"])
    assert [error.index for error in errors] == [0, 2, 3]
    assert compare_outputs([3], [4])[0].max_abs_error == 1.0
    for got in (torch.ones(1), "other"):
        with pytest.raises(ExportError, match="Output 0 of the exported program is"):
            compare_outputs([None], [got])


def test_a_run_leaves_buffers_as_they_were_written_into_or_replaced() -> None:
    module = torch.nn.BatchNorm1d(2)
    module.register_buffer("kept", torch.zeros(1))
    with unchanged_buffers(module):
        module(torch.randn(8, 2))
        module.kept = torch.ones(3)
    assert (module.running_mean.tolist(), module.kept.tolist()) == ([0.0, 0.0], [0.0])


@pytest.mark.parametrize(
    ("network", "inputs", "message"),
    [
        ("3", "(torch.randn(1, 8),)", "get_eager_model returned int, not a network."),
        ("nn.Linear(8, 8)", "torch.randn(1, 8)", "get_example_inputs returned a tensor, not a tuple of tensors."),
    ],
)
def test_a_method_that_returns_something_else_is_named(
    write_model: Callable[[str, str], Path], models_dir: Path, network: str, inputs: str, message: str
) -> None:
    body = f"""
    class Model(EagerModelBase):
        def get_eager_model(self):
            return {network}

        def get_example_inputs(self):
            return {inputs}
"""
    write_model("mistaken", body)
    with pytest.raises(ExportError) as caught:
        build_model(find_model("mistaken", models_dir), 0, None)
    assert caught.value.message == message
