"""What is said of a model that is not there: the files that may have been meant."""

from pathlib import Path

import pytest

from documented_commands import find_command
from etprof.app.named_model import find_absent_export, require_model
from etprof.core.errors import UsageError
from etprof.export.request import ExportRequest, Quantization


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("out_unet/artifacts/unet_fp23.pte", "Did you mean 'unet_fp32.pte'"),
        ("unet_fp32.pte", "Exported here: out_unet/artifacts/unet_fp32.pte."),
        ("out_unet/artifacts", "Name the file: out_unet/artifacts/unet_fp32.pte"),
        ("plan.json", "etprof run plan.json"),
    ],
)
def test_the_hint_names_what_is_there(
    typed: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    artifacts = tmp_path / "out_unet/artifacts"
    artifacts.mkdir(parents=True)
    (artifacts / "unet_fp32.pte").write_bytes(b"model")
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        require_model(Path(typed))
    assert expected in caught.value.hint


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("out_toy_cnn/artifacts/toy_cnn_xnnpack_fp16.pte", "etprof export toy_cnn --dtype fp16"),
        ("out_toy_cnn/artifacts/toy_cnn_xnnpack_fp32.pte", "etprof export toy_cnn"),
        (
            "model_profiling/out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp16.pte",
            "etprof export mobilenet_v3_small --dtype fp16 --outdir model_profiling/out_mobilenet_v3_small/artifacts",
        ),
        ("out_m/artifacts/m_xnnpack_q8.pte", "etprof export m --quantize"),
        ("out_m/artifacts/m_portable_fp16.pte", "etprof export m --dtype fp16 --backend portable"),
        ("elsewhere/m_xnnpack_q4.pte", "etprof export m --quantize --quant-scheme linear-dynamic --weight-bits 4 "
         "--outdir elsewhere"),
    ],
)  # fmt: skip
def test_the_name_of_a_file_that_is_not_there_tells_how_to_make_it(
    typed: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    near = tmp_path / "out_toy_cnn/artifacts/toy_cnn_xnnpack_fp31.pte"
    near.parent.mkdir(parents=True)
    near.touch()
    with pytest.raises(UsageError) as caught:
        require_model(Path(typed))
    assert caught.value.hint.startswith(f"Export it first: `{command}`.")
    # The command makes that file: the export it asks for has the same path.
    words = command.split()
    found, context, rest = find_command(words[1:])
    asked = found.make_context("export", rest, parent=context.parent).params
    quantized = Quantization(asked["quant_scheme"] or "static", weight_bits=asked["weight_bits"] or 8)
    request = ExportRequest(
        asked["model"], outdir=asked["outdir"], backend=asked["backend"], dtype=asked["dtype"],
        quantization=quantized if asked["quantize"] else None,
    )  # fmt: skip
    assert request.pte == Path(typed)


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("out_m/artifacts/m_xnnpack_fp32.pte", ExportRequest("m")),
        ("out_m/artifacts/m_portable_fp16.pte", ExportRequest("m", backend="portable", dtype="fp16")),
        ("out_m/artifacts/m_xnnpack_q8.pte", ExportRequest("m", quantization=Quantization())),
        (
            "out_m/artifacts/m_xnnpack_q4.pte",
            ExportRequest("m", quantization=Quantization("linear-dynamic", weight_bits=4)),
        ),
        ("elsewhere/m_xnnpack_fp32.pte", None),
        ("out_m/artifacts/m_fp32.pte", None),
        ("out_there/artifacts/there_xnnpack_fp32.pte", None),
    ],
)
def test_a_path_that_an_export_writes_to_stands_for_it_while_the_file_is_not_there(
    typed: str, wanted: ExportRequest | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = tmp_path / "out_there/artifacts/there_xnnpack_fp32.pte"
    there.parent.mkdir(parents=True)
    there.touch()
    assert find_absent_export(Path(typed)) == wanted


def test_without_any_export_the_hint_is_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        require_model(Path("mine.pte"))
    assert "etprof export" in caught.value.hint
