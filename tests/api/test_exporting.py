"""Exporting from Python: models by name, among them those that the program itself has registered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import etprof
from etprof.api import exporting
from etprof.core.errors import ExportError, UnknownNameError, UsageError
from etprof.export import registry
from etprof.export.request import ExportRequest, Quantization

pytestmark = pytest.mark.usefixtures("libraries")


@pytest.fixture
def own_models() -> Iterator[None]:
    """Forgets afterwards what a test registers; a program keeps it until it ends."""
    before = len(registry._registrations)
    yield
    del registry._registrations[before:]


def a_model_class(width: int = 8) -> type[etprof.EagerModelBase]:
    import torch

    class Tiny(etprof.EagerModelBase):
        def get_eager_model(self) -> Any:
            return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU())

        def get_example_inputs(self) -> tuple[Any, ...]:
            return (torch.randn(4, width),)

    return Tiny


@pytest.mark.usefixtures("own_models")
def test_a_model_that_a_program_registers_is_exported_as_it_is_now(tmp_path: Path) -> None:
    etprof.register_model("tiny", a_model_class())
    first = etprof.export("tiny", outdir=tmp_path)
    assert first.pte == tmp_path / "tiny_xnnpack_fp32.pte"
    assert first.meta.model_source.origin == "program"
    assert first.meta.model_source.location.endswith("Tiny")
    assert first.meta.graph is not None, "tables name modules without being asked to"
    assert [each.shape for each in first.meta.inputs] == [(4, 8)]
    etprof.register_model("tiny", a_model_class(width=16))
    second = etprof.export("tiny", outdir=str(tmp_path))
    assert not second.reused, "its code has no digest, and may have changed"
    assert [each.shape for each in second.meta.inputs] == [(4, 16)]


@pytest.mark.usefixtures("own_models")
def test_a_program_cannot_take_the_name_of_a_shipped_model(tmp_path: Path) -> None:
    etprof.register_model("toy_cnn", a_model_class())
    with pytest.raises(ExportError, match="'toy_cnn' is taken"):
        etprof.export("toy_cnn", outdir=tmp_path)
    assert list(tmp_path.glob("*.pte")) == []


@pytest.mark.parametrize(
    ("quantize", "expected"),
    [
        (None, None),
        (False, None),
        (True, Quantization()),
        ("dynamic", Quantization(scheme="dynamic")),
        (Quantization(granularity="per_tensor"), Quantization(granularity="per_tensor")),
    ],
)
def test_every_option_reaches_the_exporter(
    quantize: Any, expected: Quantization | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ExportRequest] = []
    monkeypatch.setattr(exporting, "export_model", asked.append)
    weights = tmp_path / "weights.pt"
    weights.touch()
    etprof.export(
        "mine", quantize=quantize, outdir="out", models_dir=str(tmp_path), checkpoint=weights, seed=3, min_snr=30.0,
        save_graph=False, debug=True, force=True,
    )  # fmt: skip
    assert asked == [
        ExportRequest(
            model="mine", quantization=expected, outdir=Path("out"), models_dir=tmp_path, checkpoint=weights, seed=3,
            min_snr_db=30.0, save_graph=False, debug=True, force=True,
        )
    ]  # fmt: skip


def test_a_wrong_request_is_refused_before_anything_is_exported(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no dtype called 'fp8'"):
        etprof.export("toy_cnn", dtype="fp8", outdir=tmp_path)
    with pytest.raises(UsageError, match="no checkpoint"):
        etprof.export("toy_cnn", checkpoint="none.pt", outdir=tmp_path)
    with pytest.raises(UnknownNameError, match="no quantisation scheme"):
        etprof.export("toy_cnn", quantize="fourbit", outdir=tmp_path)
    with pytest.raises(UnknownNameError) as caught:
        etprof.export("toy_cn", outdir=tmp_path)
    assert caught.value.hint == "Did you mean 'toy_cnn'?"
