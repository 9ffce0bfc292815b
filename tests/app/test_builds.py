"""Builds to choose from: what is asked for, what becomes of each, and that one that fails does not stop the others."""

from pathlib import Path

import pytest

from etprof.app.builds import BuildsRequest, add_sensitivity, make_builds, set_floors
from etprof.core.errors import ExportError, UnknownNameError, UsageError
from etprof.core.exploration import Exploration

pytestmark = pytest.mark.usefixtures("libraries")

# Its metric cannot be had of a build in fp16.
MODEL = """
import torch
from torch import nn
from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model

class Model(EagerModelBase):
    def get_eager_model(self):
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))

    def get_example_inputs(self):
        return (torch.randn(1, 3, 8, 8),)

    def evaluate(self, run):
        output = run(*self.get_example_inputs())
        if output.dtype == torch.float16:
            raise ValueError("this metric needs fp32")
        return -float(output.std())

register_model("tiny", Model)
"""


def a_request(folder: Path, **options: object) -> BuildsRequest:
    given = {"dtypes": ("fp32", "fp16"), "schemes": ("linear_dynamic_8bit",), "models_dir": folder, **options}
    return BuildsRequest("tiny", **given)  # type: ignore[arg-type]


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "models"


def test_builds_have_the_names_of_their_precision_and_runtime(tmp_path: Path) -> None:
    request = a_request(tmp_path, runtimes=("executorch", "onnxruntime"), schemes=("static_per_channel",))
    names = [each.name for each in request.wanted]
    assert names == ["fp32", "fp16", "static_per_channel", "onnxruntime_fp32", "onnxruntime_fp16"]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"runtimes": ("tflite",)}, UnknownNameError),
        ({"schemes": ("int8",)}, UnknownNameError),
        ({"dtypes": ("int8",)}, UsageError),
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_exported(
    tmp_path: Path, options: dict[str, tuple[str]], error: type[UsageError]
) -> None:
    with pytest.raises(error) as caught:
        a_request(tmp_path, **options).wanted  # noqa: B018
    assert caught.value.hint


@pytest.mark.exhaustive
def test_a_build_that_fails_is_a_candidate_with_its_reason(models: Path) -> None:
    heard: list[str] = []
    builds = make_builds(a_request(models, sensitivity=True), heard.append)
    assert list(builds.files) == ["fp32"]
    fp32, fp16, linear = builds.exploration.candidates
    assert fp32.metric is not None
    assert fp32.file_bytes == builds.files["fp32"].stat().st_size
    assert "this metric needs fp32" in fp16.problem
    assert "no linear layer" in linear.problem
    assert builds.exploration.has_random_weights
    assert heard[0] == "build 1 of 3: fp32"
    assert heard[-1].startswith("  not measured: The model has no linear layer")
    found = add_sensitivity(builds.exploration, a_request(models, sensitivity=True), heard.append)
    assert [loss.module for loss in found.sensitivity] == ["0", "2"]
    assert found.sensitivity_scheme == "static_per_channel"


def test_where_nothing_can_be_measured_the_first_reason_is_the_error(models: Path) -> None:
    with pytest.raises(ExportError, match="None of the builds of 'tiny' can be measured") as caught:
        make_builds(a_request(models, dtypes=(), schemes=("linear_dynamic_8bit",)), lambda _: None)
    assert "no linear layer" in caught.value.message


def test_a_floor_for_a_metric_that_the_model_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="has no metric"):
        set_floors(Exploration(()), a_request(tmp_path, min_metric=0.5))
