"""A static quantisation is calibrated with inputs it is not judged by."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from etprof.core.errors import ExportError
from etprof.export.calibration import draw_samples, read_samples
from etprof.export.exporter import Quantization
from etprof.export.registry import find_model
from etprof.export.source import EagerModel, build_model
from shared_exports import SharedExports

Write = Callable[[str, str], Path]
pytestmark = pytest.mark.usefixtures("libraries")

PAIR = """
class Pair(nn.Module):
    def forward(self, a, b):
        return a + b

class Model(EagerModelBase):
    def get_eager_model(self):
        return Pair()

    def get_example_inputs(self):
        return ({first}, torch.randn(3))
"""


@pytest.fixture
def build(write_model: Write, models_dir: Path) -> Callable[[str], EagerModel]:
    def make(body: str) -> EagerModel:
        write_model("pair", body)
        return build_model(find_model("pair", models_dir), 0, None)

    return make


def test_samples_differ_from_the_example_and_from_each_other(build: Callable[[str], EagerModel]) -> None:
    model = build(PAIR.format(first="torch.randn(2, 3)"))
    samples, source = draw_samples(model, 3, seed=0)
    firsts = [args[0].tolist() for args, _ in samples]
    assert model.args[0].tolist() not in firsts
    assert len({str(first) for first in firsts}) == 3
    assert source == "get_example_inputs with other seeds"


def test_inputs_that_never_change_are_respread(build: Callable[[str], EagerModel]) -> None:
    model = build(PAIR.format(first="torch.arange(6.0).view(2, 3)").replace("torch.randn(3)", "torch.arange(3.0)"))
    (sample,), source = draw_samples(model, 1, seed=0)
    assert sample[0][0].tolist() != model.args[0].tolist()
    assert "do not change with the seed" in source


def test_a_model_may_bring_its_own(build: Callable[[str], EagerModel]) -> None:
    own = "\n    def get_calibration_inputs(self, count):\n        return [(torch.ones(2, 3), torch.ones(3))] * count\n"
    samples, source = draw_samples(build(PAIR.format(first="torch.randn(2, 3)") + own), 2, seed=0)
    assert len(samples) == 2
    assert samples[0][0][0].tolist() == [[1.0] * 3] * 2
    assert "get_calibration_inputs" in source


def test_a_folder_of_files_is_read_in_order(build: Callable[[str], EagerModel], tmp_path: Path) -> None:
    model = build(PAIR.format(first="torch.randn(2, 3)"))
    for index in (2, 1):
        np.savez(tmp_path / f"{index}.npz", np.full((2, 3), index, np.float32), np.zeros(3, np.float32))
    samples = read_samples(tmp_path, model)
    assert [float(args[0][0, 0]) for args, _ in samples] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "contains no calibration inputs"),
        (b"text", "not a NumPy file"),
        ("shape", r"the model takes \[\(2, 3\), \(3,\)\]"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(
    build: Callable[[str], EagerModel], tmp_path: Path, content: bytes | str | None, words: str
) -> None:
    folder = tmp_path / "samples"
    folder.mkdir()
    if content == "shape":
        np.save(folder / "a.npy", np.zeros((3, 3), np.float32))
    elif isinstance(content, bytes):
        (folder / "a.npy").write_bytes(content)
    with pytest.raises(ExportError, match=words):
        read_samples(folder, build(PAIR.format(first="torch.randn(2, 3)")))


def test_the_meta_file_names_count_source_and_digest(exported: SharedExports) -> None:
    calibration = exported("toy_cnn", quantization=Quantization()).meta.calibration
    assert calibration is not None
    assert calibration.count == 8
    assert calibration.source == "get_example_inputs with other seeds"
    assert len(calibration.sha256) == 64
