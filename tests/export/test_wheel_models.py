"""ExecuTorch's own registry: local models appear in it, and its examples are built without a download."""

from collections.abc import Callable
from pathlib import Path

import pytest

from etprof.export.registry import find_model
from etprof.export.wheel_models import load_model_class, no_downloads, wheel_models

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


def test_a_local_model_does_not_become_an_example() -> None:
    assert "mine" not in {entry.name for entry in wheel_models()}


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
