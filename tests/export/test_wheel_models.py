"""ExecuTorch's own registry: local models appear in it, and its examples are built without a download."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etprof.export.registry import find_model
from etprof.export.shipped_models import shipped_models
from etprof.export.wheel_models import load_model_class, no_downloads, source_digest, wheel_models

pytestmark = pytest.mark.usefixtures("libraries")


def test_a_local_model_is_built_by_executorchs_own_factory(
    write_model: Callable[[str, str], Path], models_dir: Path
) -> None:
    from executorch.examples.models import MODEL_NAME_TO_MODEL
    from executorch.examples.models.model_factory import EagerModelFactory

    write_model(
        "mine",
        "class Model(EagerModelBase):\n    def get_eager_model(self):\n        return nn.Identity()\n\n"
        "    def get_example_inputs(self):\n        return (torch.ones(1),)",
    )
    load_model_class(find_model("mine", models_dir))
    network, inputs, *_ = EagerModelFactory.create_model(*MODEL_NAME_TO_MODEL["mine"])
    assert type(network).__name__ == "Identity"
    assert len(inputs) == 1


def test_a_model_that_was_loaded_does_not_become_an_example(
    write_model: Callable[[str, str], Path], models_dir: Path
) -> None:
    before = {entry.name for entry in wheel_models()}
    write_model("mine", "class Model(EagerModelBase):\n    pass")
    for name in ("mine", "toy_cnn"):
        load_model_class(find_model(name, models_dir))
    assert {entry.name for entry in wheel_models()} == before


def test_an_example_is_loaded_from_the_wheel() -> None:
    found = load_model_class(find_model("linear", None))
    assert found.__module__ == "executorch.examples.models.toy_model.model"
    assert {"get_eager_model", "get_example_inputs"} <= set(dir(found))


def test_every_shipped_model_has_a_digest_of_its_code() -> None:
    offered = [entry for entry in shipped_models() if entry.is_offered]
    assert {len(source_digest(entry)) for entry in offered} == {64}


def test_a_list_of_models_does_not_import_the_demonstration_model() -> None:
    code = "import sys; from etprof.export.shipped_models import shipped_models; shipped_models(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "etprof.export.demo.toy_cnn" not in done.stdout.split()
    assert "etprof.export.shipped_models" in done.stdout.split(), done.stderr


def test_a_download_is_answered_with_no_weights() -> None:
    import torch

    layer = torch.nn.Linear(2, 2)
    before = layer.weight.clone()
    with no_downloads():
        layer.load_state_dict(torch.hub.load_state_dict_from_url("nowhere"))
        layer.load_state_dict({"weight": before + 1, "bias": torch.zeros(2)})
    assert torch.equal(layer.weight, before + 1)


def test_examples_that_want_more_are_listed_apart() -> None:
    offered = {entry.name: entry.is_offered for entry in wheel_models()}
    assert offered["mv2"]
    assert not offered["llama"]
