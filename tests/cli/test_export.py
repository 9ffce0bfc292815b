"""`etprof export` as a user types it."""

import shutil
from pathlib import Path

import pytest

from etprof.cli.main import main

Capture = pytest.CaptureFixture[str]

TINY = """
import torch
from torch import nn

from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model


class Model(EagerModelBase):
    def get_eager_model(self):
        print("noise from a model")
        return nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 4))

    def get_example_inputs(self):
        return (torch.randn(2, 8),)


register_model("tiny", Model)
"""


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(TINY)
    return folder.parent


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.mark.usefixtures("libraries")
def test_the_facts_of_an_export_are_told_and_noise_goes_to_its_log(models: Path, out: Path, capfd: Capture) -> None:
    assert main(["export", "tiny", "--models-dir", str(models), "--outdir", str(out), "--debug"]) == 0
    said = capfd.readouterr()
    assert said.out.splitlines()[-1] == "export ok"
    assert "partitions  2" in said.out
    assert "left out    1 aten.native_layer_norm.default" in said.out
    assert "random, seed 0" in said.out
    reason = "XNNPACK's partitioner has no rule for this operator"
    assert f"1 x aten.native_layer_norm.default left out: {reason}" in said.out
    assert "noise from a model" not in said.out + said.err
    assert "noise from a model" in (out / "tiny_xnnpack_fp32.export.log").read_text()


def test_the_second_time_it_is_kept(toy_cnn: Path, capfd: Capture) -> None:
    before = (toy_cnn / "toy_cnn_xnnpack_fp32.export_meta.json").read_text()
    assert main(["export", "toy_cnn", "--outdir", str(toy_cnn)]) == 0
    assert "it was kept" in capfd.readouterr().out
    assert (toy_cnn / "toy_cnn_xnnpack_fp32.export_meta.json").read_text() == before


@pytest.mark.usefixtures("libraries")
def test_a_broken_export_is_exit_code_1_and_says_so(models: Path, out: Path, capfd: Capture) -> None:
    scheme = ["--quantize", "--quant-scheme", "linear-weight-only"]
    assert main(["export", "tiny", "--models-dir", str(models), "--outdir", str(out), *scheme]) == 1
    said = capfd.readouterr().err
    assert "does not match the eager model" in said
    assert "hint:" in said
    assert not list(out.glob("*.pte"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["toy_cn"], "Did you mean 'toy_cnn'"),
        ([], "Name one model"),
        (["toy_cnn", "--model", "toy_cnn"], "Name one model"),
        (["toy_cnn", "--dtype", "fp8"], "no dtype called 'fp8'"),
        (["toy_cnn", "--weight-bits", "4"], "without --quantize"),
        (["toy_cnn", "--quantize", "--calibration", "no/such/folder"], "no calibration folder"),
        (["toy_cnn", "--models-dir", "no/such/folder"], "no models folder"),
        (["toy_cnn", "--all"], "do not go together"),
        (["--all", "--schemes", "statik"], "no scheme called 'statik'"),
        (["--all", "--quantize"], "takes neither"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_sentence(
    arguments: list[str], words: str, out: Path, capfd: Capture
) -> None:
    assert main(["export", *arguments, "--outdir", str(out)]) == 2
    assert words in capfd.readouterr().err
    assert not out.exists()


@pytest.mark.usefixtures("libraries")
def test_all_exports_a_matrix_and_one_failure_does_not_stop_the_rest(models: Path, out: Path, capfd: Capture) -> None:
    (models / "broken").mkdir()
    (models / "broken" / "model.py").write_text("raise ValueError('no such luck')")
    wanted = ["--models", "broken,tiny", "--dtypes", "fp32,fp16", "--schemes", "static_per_channel,dynamic_per_channel"]
    assert main(["export", "--all", "--models-dir", str(models), *wanted, "--outdir", str(out)]) == 1
    said = capfd.readouterr().out
    assert "4 exported, 4 failed" in said
    assert said.count("ValueError: no such luck") == 4
    written = {path.relative_to(out).as_posix() for path in out.rglob("*.pte")}
    assert written == {
        "tiny_xnnpack_fp32.pte",
        "tiny_xnnpack_fp16.pte",
        "tiny_xnnpack_q8.pte",
        "dynamic_per_channel/tiny_xnnpack_q8.pte",
    }
    assert {str(out / name) for name in written} <= set(said.splitlines())


@pytest.mark.usefixtures("libraries")
def test_all_takes_the_models_of_the_folder_that_are_ready(models: Path, out: Path, capfd: Capture) -> None:
    (models / "broken").mkdir()
    (models / "broken" / "model.py").write_text("raise ValueError('no such luck')")
    wanted = ["--dtypes", "fp32", "--schemes", "none", "--outdir", str(out)]
    assert main(["export", "--all", "--models-dir", str(models), *wanted]) == 0
    said = capfd.readouterr()
    assert "1 exported, 0 failed, 1 model left out\nexport ok" in said.out
    assert "broken left out: " in said.out
    assert "[1/1] tiny_xnnpack_fp32: exported, " in said.err


def test_verbose_shows_what_the_libraries_printed(toy_cnn: Path, tmp_path: Path, capsys: Capture) -> None:
    for path in toy_cnn.glob("toy_cnn_xnnpack_fp32.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "toy_cnn_xnnpack_fp32.export.log").write_text("a warning of torch\n")
    line = ["export", "toy_cnn", "--outdir", str(tmp_path)]
    assert main(line) == 0
    assert "a warning of torch" not in capsys.readouterr().err
    assert main([*line, "--verbose"]) == 0
    shown = capsys.readouterr()
    assert "a warning of torch" in shown.err
    assert "so it was kept" in shown.out
