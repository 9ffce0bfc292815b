"""A quantisation that would do nothing is refused, not shipped."""

from collections.abc import Callable
from pathlib import Path

import pytest

from etprof.core.errors import ExportError
from etprof.export.exporter import ExportRequest, Quantization, export_model

Write = Callable[[str, str], Path]
pytestmark = pytest.mark.usefixtures("libraries")

MODEL = """
class Model(EagerModelBase):
    def get_eager_model(self):
        return {network}

    def get_example_inputs(self):
        return (torch.randn(1, 4, 8, 8),)
"""


@pytest.mark.parametrize(
    ("network", "quantization", "words"),
    [
        ("nn.Conv2d(4, 4, 3)", Quantization("linear-dynamic"), "no linear layer, so linear_dynamic_8bit"),
        ("nn.Softmax(dim=1)", Quantization(), "can be quantised with static_per_channel"),
        ("nn.Softmax(dim=1)", Quantization("dynamic"), "can be quantised with dynamic_per_channel"),
        ("nn.Linear(8, 8)", Quantization("linear-dynamic", weight_bits=4, group_size=32), "divisible by block_size"),
    ],
)
def test_a_scheme_that_does_not_apply_is_refused(
    write_model: Write, models_dir: Path, tmp_path: Path, network: str, quantization: Quantization, words: str
) -> None:
    write_model("net", MODEL.format(network=network))
    with pytest.raises(ExportError, match=words) as caught:
        export_model(ExportRequest("net", tmp_path / "out", models_dir=models_dir, quantization=quantization))
    assert caught.value.hint
    assert not list((tmp_path / "out").glob("*.pte"))
