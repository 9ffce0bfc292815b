"""What a model class and an artifact answer by themselves."""

from pathlib import Path
from typing import Any

import pytest

from builders import an_export_meta
from etprof.core.model import Artifact, EagerModelBase, TensorFile


class Smallest(EagerModelBase):
    def get_eager_model(self) -> Any:
        return "a module"

    def get_example_inputs(self) -> tuple[Any, ...]:
        return (1,)


def test_two_methods_make_a_model_and_the_rest_has_defaults() -> None:
    model = Smallest()
    assert (model.get_example_kwarg_inputs(), model.get_dynamic_shapes(), model.get_calibration_inputs(4)) == (
        None,
    ) * 3
    state = {"weight": 1}
    assert model.adapt_checkpoint(state) is state


def test_a_model_without_inputs_cannot_be_made() -> None:
    class Incomplete(EagerModelBase):
        def get_eager_model(self) -> Any:
            return None

    with pytest.raises(TypeError, match="get_example_inputs"):
        Incomplete()  # type: ignore[abstract]


def test_an_artifacts_files_are_beside_its_program() -> None:
    first = TensorFile(shape=(1, 3), dtype="float32", file="toy.input_0.bin", sha256="0" * 64)
    artifact = Artifact(Path("out/artifacts/toy.pte"), an_export_meta(inputs=(first,)))
    assert artifact.inputs == (Path("out/artifacts/toy.input_0.bin"),)
    assert artifact.etrecord == Path("out/artifacts/toy_cnn.pte.etrecord")
