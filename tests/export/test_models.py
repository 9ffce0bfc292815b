"""Every model that must work does: exported, run by the real runtime, and held to floors of SNR and delegation."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from etprof.core.model import Artifact
from etprof.export.exporter import Quantization
from parts import need

STATIC = Quantization()
PER_TENSOR = Quantization(granularity="per_tensor")
DYNAMIC = Quantization("dynamic")
LINEAR_8 = Quantization("linear-dynamic")
LINEAR_4 = Quantization("linear-dynamic", weight_bits=4)
LINEAR_4_GROUPED = Quantization("linear-dynamic", weight_bits=4, group_size=32)

# Precision, floor of the SNR in dB, most partitions, least share of operators delegated.
Floor = tuple[str | Quantization, float, int, float]
FLOORS: dict[str, tuple[Floor, ...]] = {
    "toy_cnn": (
        ("fp32", 110, 1, 1.0),
        ("fp16", 55, 1, 1.0),
        (STATIC, 35, 1, 1.0),
        (PER_TENSOR, 35, 1, 1.0),
        (DYNAMIC, 45, 1, 1.0),
        (LINEAR_8, 45, 1, 1.0),
        (LINEAR_4, 25, 1, 1.0),
        (LINEAR_4_GROUPED, 25, 1, 1.0),
    ),
    "mobilenet_v3_small": (
        ("fp32", 90, 1, 1.0),
        ("fp16", 25, 1, 1.0),
        (STATIC, 5, 1, 1.0),
        (PER_TENSOR, 2, 1, 1.0),
        (DYNAMIC, 10, 1, 1.0),
    ),
    "vit_tiny": (
        ("fp32", 100, 26, 0.9),
        ("fp16", 50, 26, 0.9),
        (Quantization(calibration=2), 25, 26, 0.9),
        (Quantization(granularity="per_tensor", calibration=2), 20, 26, 0.9),
        # Twelve partitions more, one for each block, though the same operators are left out.
        (DYNAMIC, 25, 38, 0.9),
        (LINEAR_4_GROUPED, 10, 26, 0.9),
    ),
    "edgetam_image_encoder": (
        ("fp32", 90, 1, 1.0),
        ("fp16", 30, 1, 1.0),
        # One sample: the observers of this version need most of a minute for each at this size.
        (Quantization(calibration=1), 5, 1, 1.0),
        (Quantization(granularity="per_tensor", calibration=1), 5, 1, 1.0),
        (DYNAMIC, 10, 1, 1.0),
    ),
}
EXTRAS = {
    "mobilenet_v3_small": ("torchvision",),
    "edgetam_image_encoder": ("torchvision", "timm", "transformers"),
}
CASES = [
    pytest.param(
        model, *floor, id=f"{model}-{floor[0] if isinstance(floor[0], str) else floor[0].label}",
        marks=[] if model == "toy_cnn" else pytest.mark.slow,
    )
    for model, floors in FLOORS.items()
    for floor in floors
]  # fmt: skip


@pytest.mark.parametrize(("model", "precision", "snr_db", "partitions", "share"), CASES)
def test_a_model_is_exported_and_computes_what_it_should(
    exported: Callable[..., Artifact],
    model: str,
    precision: str | Quantization,
    snr_db: float,
    partitions: int,
    share: float,
) -> None:
    need(all(map(find_spec, EXTRAS.get(model, ()))), f"{EXTRAS.get(model)} is not installed")
    if isinstance(precision, str):
        meta = exported(model, precision).meta
    else:
        meta = exported(model, quantization=precision).meta
    assert meta["numerics"]["worst_snr_db"] >= snr_db
    assert meta["delegation"]["partitions"] <= partitions
    assert meta["delegation"]["delegated_share"] >= share


@pytest.mark.slow
def test_edgetam_takes_its_true_input(exported: Callable[..., Artifact]) -> None:
    need(all(map(find_spec, EXTRAS["edgetam_image_encoder"])), "transformers or timm is not installed")
    meta = exported("edgetam_image_encoder").meta
    assert meta["inputs"][0]["shape"] == [1, 3, 1024, 1024]
    assert [output["shape"][1:] for output in meta["outputs"]] == [[256, 256, 256], [256, 128, 128], [256, 64, 64]]


# The examples that ship with the wheel; the last figure is the least share of operators delegated.
EXAMPLES: tuple[tuple[str, float, float], ...] = (
    ("mul", 100, 1.0),
    ("linear", 100, 1.0),
    ("add", 100, 1.0),
    ("add_mul", 100, 0.5),
    ("softmax", 100, 1.0),
    ("conv1d", 100, 0.5),
    ("sdpa", 90, 0.5),
    ("lstm", 90, 0.4),
    ("deep_autoencoder", 90, 1.0),
    ("ds_cnn", 75, 0.8),
    ("mobilenet_v1_025", 75, 0.8),
    ("resnet8", 75, 0.8),
)
LARGE_EXAMPLES: tuple[tuple[str, float, float], ...] = (
    ("mv2", 80, 0.9),
    ("mv3", 80, 0.8),
    ("resnet18", 80, 0.9),
    ("deit_tiny", 80, 0.5),
)


@pytest.mark.parametrize(("model", "snr_db", "share"), EXAMPLES)
def test_an_example_of_the_wheel_is_exported(
    exported: Callable[..., Artifact], model: str, snr_db: float, share: float
) -> None:
    check_example(exported(model), snr_db, share)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "snr_db", "share"), LARGE_EXAMPLES)
def test_a_large_example_of_the_wheel_is_exported(
    exported: Callable[..., Artifact], model: str, snr_db: float, share: float
) -> None:
    need(find_spec("torchvision") and find_spec("timm"), "torchvision or timm is not installed")
    check_example(exported(model), snr_db, share)


def check_example(artifact: Artifact, snr_db: float, share: float) -> None:
    meta = artifact.meta
    assert meta["model_source"]["origin"] == "executorch wheel"
    assert meta["weights"]["source"] == "random"
    worst = meta["numerics"]["worst_snr_db"]
    assert worst is None or worst >= snr_db
    assert meta["delegation"]["delegated_share"] >= share
