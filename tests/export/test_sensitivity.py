"""Layers that are quantised one at a time: the one that suffers most is found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from etprof.export.accuracy import build_yardstick
from etprof.export.request import ExportRequest, Quantization
from etprof.export.sensitivity import measure_layers

Write = Callable[[str, str], Path]
pytestmark = pytest.mark.usefixtures("libraries")

# One filter of the second layer is a thousand times as large as the others, which one scale for all cannot hold. What
# follows it sees nothing of that.
MODEL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.second = nn.Conv2d(8, 8, 3)
        self.head = nn.Linear(8, 4)
        self.register_buffer("scale", torch.tensor([1e-3] + [1.0] * 7).view(1, 8, 1, 1))

    def forward(self, image):
        features = torch.relu(self.second(torch.relu(self.first(image)))) * self.scale
        return self.head(features.mean((2, 3)))

class Model(EagerModelBase):
    def get_eager_model(self):
        net = Net()
        with torch.no_grad():
            net.second.weight[0] *= 1000
        return net

    def get_example_inputs(self):
        return (torch.randn(1, 3, 16, 16),)
"""


@pytest.mark.exhaustive
def test_the_layer_that_one_scale_cannot_hold_costs_most(write_model: Write, models_dir: Path) -> None:
    write_model("net", MODEL)
    yardstick = build_yardstick(ExportRequest("net", models_dir=models_dir))
    heard: list[tuple[int, int, str]] = []
    losses = measure_layers(
        yardstick, "net", 0, Quantization(granularity="per_tensor"), lambda *told: heard.append(told)
    )
    by_name = {loss.module: loss.snr_db for loss in losses}
    assert list(by_name) == ["first", "second", "head"]
    assert heard[-1] == (2, 3, "head")
    known = {name: snr for name, snr in by_name.items() if snr is not None}
    assert min(known, key=known.__getitem__) == "second"
    assert known["first"] > known["second"] + 10
