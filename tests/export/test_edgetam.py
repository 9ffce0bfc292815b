"""The edits that make EdgeTAM exportable change nothing that matters."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from etprof.export.foreign import output_to
from etprof.export.numerics import compare_outputs, worst_snr
from etprof.export.registry import find_model
from etprof.export.source import build_model, seeded
from etprof.export.wheel_models import repair_torchvision
from parts import need
from shared_exports import MODELS


@pytest.fixture(scope="module")
def edits(libraries: None) -> Any:
    """The module of the model folder, with its extras importable."""
    need(all(map(find_spec, ("torchvision", "timm", "transformers"))), "transformers or timm is not installed")
    with output_to(Path("/dev/null")):
        repair_torchvision()
        return sys.modules[find_model("edgetam_image_encoder", MODELS).model_class.__module__]


def test_doubling_is_nearest_neighbour_upsampling(edits: Any) -> None:
    import torch

    features = torch.randn(1, 3, 4, 5)
    assert torch.equal(edits.double(features), torch.nn.functional.interpolate(features, scale_factor=2.0))


def test_the_edited_encoder_computes_what_transformers_computes(edits: Any, tmp_path: Path) -> None:
    import torch

    with output_to(tmp_path / "log"), seeded(0), torch.no_grad():
        encoder = edits.build_encoder()
        edits.bring_to_life(encoder)
        pixels = torch.randn(1, 3, 256, 256)
        original = encoder(pixels).fpn_hidden_states
        encoder.neck = edits.FeaturePyramid(encoder.neck)
        pyramid = encoder(pixels).fpn_hidden_states
        edits.replace_gelu(encoder)
        edited = encoder(pixels).fpn_hidden_states
    assert worst_snr(compare_outputs(original, pyramid)) > 120
    # What is left is the difference between the two forms of GELU.
    assert worst_snr(compare_outputs(original, edited)) > 45


def test_a_checkpoint_of_the_whole_model_fits(edits: Any, tmp_path: Path) -> None:
    import torch

    path = tmp_path / "edgetam.pt"
    with output_to(tmp_path / "log"), seeded(1):
        state = edits.build_encoder().state_dict()
        torch.save({f"vision_encoder.{key}": value for key, value in state.items()} | {"memory.x": torch.ones(1)}, path)
        model = build_model(find_model("edgetam_image_encoder", MODELS), 0, path)
    assert model.weights.source == "checkpoint"
    loaded = model.module.state_dict()
    assert all(torch.equal(loaded[f"encoder.{key}"], value) for key, value in state.items())
