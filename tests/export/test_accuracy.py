"""How well builds compute: real exports against held-out inputs, and the model's own metric where it has one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import ExportError
from etprof.export.accuracy import Yardstick, build_yardstick, measure_accuracy
from etprof.export.calibration import draw_samples
from etprof.export.execution import load_program
from etprof.export.inputs import save
from etprof.export.request import ExportRequest, Quantization
from shared_exports import SharedExports

Write = Callable[[str, str], Path]
pytestmark = pytest.mark.usefixtures("libraries")

MODEL = """
class Net(nn.Module):
    def forward(self, x, *, scale, shift):
        return x * scale + shift

class Model(EagerModelBase):
    def get_eager_model(self):
        return Net()

    def get_example_inputs(self):
        return (torch.randn(2, 3),)

    def get_example_kwarg_inputs(self):
        return {{"shift": torch.randn(2, 3), "scale": torch.randn(2, 3)}}

    {more}
"""
METRIC = """def evaluate(self, run):
        x, kwargs = self.get_example_inputs()[0], self.get_example_kwarg_inputs()
        return {value}"""


@pytest.fixture
def toy() -> Yardstick:
    return build_yardstick(ExportRequest("toy_cnn"))


def a_yardstick(write_model: Write, models_dir: Path, more: str = "") -> Yardstick:
    write_model("net", MODEL.format(more=more))
    return build_yardstick(ExportRequest("net", models_dir=models_dir))


def files_of(yardstick: Yardstick, folder: Path, *, order: Sequence[str] = ("scale", "shift")) -> Any:
    """The example inputs as a build that takes its keyword arguments in this order has them."""
    model = yardstick.model
    return save([*model.args, *(model.kwargs[name] for name in order)], folder / "net.pte")


def in_this_order(tensors: Sequence[Any]) -> list[Any]:
    x, scale, shift = tensors
    return [x * scale + shift]


@pytest.mark.parametrize(("dtype", "quantization", "low", "high"), [
    ("fp32", None, 100.0, inf), ("fp16", None, 55.0, 85.0), ("fp32", Quantization(), 25.0, 55.0),
])  # fmt: skip
def test_the_snr_falls_with_the_precision(
    toy: Yardstick,
    exported: SharedExports,
    dtype: str,
    quantization: Quantization | None,
    low: float,
    high: float,
) -> None:
    artifact = exported("toy_cnn", dtype, quantization)
    found = measure_accuracy(toy, artifact.meta.inputs, partial(load_program, artifact.pte))
    assert low < found.snr_db < high
    assert found.metric is None


def test_held_out_inputs_are_neither_the_examples_nor_those_of_the_calibration(toy: Yardstick) -> None:
    calibrated, _ = draw_samples(toy.model, 8, 0)
    seen = [args[0] for args, _ in calibrated] + [toy.model.args[0]]
    assert len(toy.held_out) == 4
    assert not any(bool((args[0] == each).all()) for args, _ in toy.held_out for each in seen)


def test_a_model_that_offers_no_further_inputs_is_measured_with_its_examples(
    write_model: Write, models_dir: Path
) -> None:
    more = "def get_calibration_inputs(self, count):\n        return [self.get_example_inputs()] * min(count, 8)"
    yardstick = a_yardstick(write_model, models_dir, more)
    assert len(yardstick.held_out) == 1
    assert yardstick.held_out[0][0] is yardstick.model.args


@pytest.mark.parametrize("order", [("scale", "shift"), ("shift", "scale")])
def test_keyword_arguments_reach_the_build_in_its_own_order(
    write_model: Write, models_dir: Path, tmp_path: Path, order: tuple[str, str]
) -> None:
    yardstick = a_yardstick(write_model, models_dir)

    def execute(tensors: Sequence[Any]) -> list[Any]:
        given = dict(zip(("x", *order), tensors, strict=True))
        return in_this_order([given["x"], given["scale"], given["shift"]])

    found = measure_accuracy(yardstick, files_of(yardstick, tmp_path, order=order), lambda: execute)
    assert found.snr_db == inf


def test_the_metric_sees_the_build_as_it_would_see_the_model(
    write_model: Write, models_dir: Path, tmp_path: Path
) -> None:
    more = METRIC.format(value="float(run(x, **kwargs).abs().mean())")
    yardstick = a_yardstick(write_model, models_dir, more)
    assert yardstick.metric is not None
    inputs = files_of(yardstick, tmp_path)
    assert measure_accuracy(yardstick, inputs, lambda: lambda given: [0 * given[0]]).metric == 0.0


@pytest.mark.parametrize(
    ("value", "words"), [("1 / 0", r"evaluate\(\) of the model failed: ZeroDivisionError"), ("float('nan')", "nan")]
)
def test_a_metric_that_raises_or_is_no_number_is_said(
    write_model: Write, models_dir: Path, value: str, words: str
) -> None:
    with pytest.raises(ExportError, match=words) as caught:
        a_yardstick(write_model, models_dir, METRIC.format(value=value))
    assert "more is better" in caught.value.hint


def test_inputs_of_another_model_are_refused(write_model: Write, models_dir: Path, tmp_path: Path) -> None:
    yardstick = a_yardstick(write_model, models_dir)
    first, *others = files_of(yardstick, tmp_path)
    with pytest.raises(ExportError, match="is not an example input of the model"):
        measure_accuracy(yardstick, [replace(first, sha256="0" * 64), *others], lambda: in_this_order)
