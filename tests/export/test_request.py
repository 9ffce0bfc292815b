"""What may be asked of an export, and what a refusal says."""

from pathlib import Path

import pytest

from etprof.core.errors import UsageError
from etprof.export.request import ExportRequest, Quantization


def test_quantize_alone_means_int8_static_per_channel() -> None:
    assert Quantization().label == "static_per_channel"
    assert ExportRequest("m", quantization=Quantization()).stem == "m_xnnpack_q8"


@pytest.mark.parametrize(
    ("request_", "stem"),
    [
        (ExportRequest("m"), "m_xnnpack_fp32"),
        (ExportRequest("m", dtype="fp16"), "m_xnnpack_fp16"),
        (ExportRequest("m", backend="portable"), "m_portable_fp32"),
        (ExportRequest("m", quantization=Quantization("linear-dynamic", weight_bits=4)), "m_xnnpack_q4"),
    ],
)
def test_the_file_name_says_model_backend_and_precision(request_: ExportRequest, stem: str) -> None:
    assert request_.stem == stem
    assert request_.folder == Path("out_m/artifacts")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "fp8"}, "no dtype called 'fp8'"),
        ({"dtype": "int8"}, "no dtype called 'int8'"),
        ({"backend": "xnpack"}, "no backend called 'xnpack'"),
        ({"dtype": "fp16", "quantization": Quantization()}, "mutually exclusive"),
        ({"backend": "portable", "quantization": Quantization()}, "XNNPACK only"),
        ({"checkpoint": Path("nowhere.pt")}, "no checkpoint nowhere.pt"),
        ({"quantization": Quantization(calibration=Path("nowhere"))}, "no calibration folder nowhere"),
    ],
)
def test_a_wrong_request_is_refused_with_a_hint(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        ExportRequest("m", **options)  # type: ignore[arg-type]
    assert caught.value.hint


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "statik"},
        {"granularity": "per_row"},
        {"weight_bits": 4},
        {"scheme": "linear-dynamic", "weight_bits": 3},
        {"scheme": "linear-dynamic", "group_size": 32},
        {"scheme": "dynamic", "granularity": "per_tensor"},
        {"calibration": 0},
    ],
)
def test_schemes_this_version_does_not_have_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Quantization(**options)  # type: ignore[arg-type]


def test_settings_tell_two_different_exports_apart() -> None:
    assert ExportRequest("m", seed=1).settings() != ExportRequest("m", seed=2).settings()
    assert ExportRequest("m", Path("a")).settings() == ExportRequest("m", Path("b")).settings()


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [("int8", "--quantize"), ("INT8", "--quantize"), ("q4", "--quantize"), ("bf16", "fp32 and fp16"), ("half", "fp16")],
)
def test_a_dtype_that_is_something_else_points_to_it(dtype: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        ExportRequest("m", dtype=dtype)
    assert hint in caught.value.hint
