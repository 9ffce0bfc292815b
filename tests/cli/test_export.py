"""`etprof export` as a user types it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, run_etprof

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


def test_the_table_tells_size_partitions_share_and_snr(models: Path, tmp_path: Path, toy_cnn: Path) -> None:
    said = run_etprof("export", "tiny", "--models-dir", str(models), "--outdir", str(tmp_path / "out"), "--debug")
    assert said.splitlines()[-1] == "export ok"
    assert "partitions  2" in said
    assert "left out    1 aten.native_layer_norm.default" in said
    assert "random, seed 0" in said
    assert "1 x aten.native_layer_norm.default left out: XNNPACK's partitioner has no rule for this operator" in said
    assert "noise from a model" not in said
    assert "noise from a model" in (tmp_path / "out" / "tiny_xnnpack_fp32.export.log").read_text()


def test_the_second_time_it_is_kept(toy_cnn: Path) -> None:
    before = (toy_cnn / "toy_cnn_xnnpack_fp32.export_meta.json").read_text()
    assert "it was kept" in run_etprof("export", "toy_cnn", "--outdir", str(toy_cnn))
    assert (toy_cnn / "toy_cnn_xnnpack_fp32.export_meta.json").read_text() == before


def test_a_broken_export_is_exit_code_1_and_says_so(models: Path, tmp_path: Path) -> None:
    said = run_etprof(
        "export", "tiny", "--models-dir", str(models), "--outdir", str(tmp_path / "out"),
        "--quantize", "--quant-scheme", "linear-weight-only", expect=1,
    )  # fmt: skip
    assert "computes something else than the eager model" in said
    assert "hint:" in said
    assert not list((tmp_path / "out").glob("*.pte"))


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
def test_wrong_usage_is_exit_code_2_and_one_sentence(arguments: list[str], words: str, tmp_path: Path) -> None:
    said = run_etprof("export", *arguments, "--outdir", str(tmp_path / "out"), expect=2)
    assert words in said
    assert not (tmp_path / "out").exists()


def test_all_exports_a_matrix_and_one_failure_does_not_stop_the_rest(models: Path, tmp_path: Path) -> None:
    (models / "broken").mkdir()
    (models / "broken" / "model.py").write_text("raise ValueError('no such luck')")
    said = run_etprof(
        "export", "--all", "--models-dir", str(models), "--models", "broken,tiny", "--dtypes", "fp32,fp16",
        "--schemes", "static_per_channel,dynamic_per_channel", "--outdir", str(tmp_path / "out"), expect=1,
    )  # fmt: skip
    assert "4 exported, 4 failed" in said
    assert said.count("ValueError: no such luck") == 4
    written = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.pte")}
    assert written == {
        "tiny_xnnpack_fp32.pte",
        "tiny_xnnpack_fp16.pte",
        "tiny_xnnpack_q8.pte",
        "dynamic_per_channel/tiny_xnnpack_q8.pte",
    }


def test_all_takes_the_models_of_the_folder_that_are_ready(models: Path, tmp_path: Path) -> None:
    said = run_etprof(
        "export", "--all", "--models-dir", str(models), "--dtypes", "fp32", "--schemes", "none",
        "--outdir", str(tmp_path / "out"),
    )  # fmt: skip
    assert "1 exported, 0 failed" in said


def test_the_door_of_the_documents_leads_here(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "model_profiling/export/export_model.py", "--model", "toy_cnn", "--dtype", "fp16",
         "--outdir", f"{tmp_path}/artifacts/"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "export ok"
    meta = json.loads((tmp_path / "artifacts" / "toy_cnn_xnnpack_fp16.export_meta.json").read_text())
    assert meta["dtype"] == "fp16"
    assert (tmp_path / "artifacts" / meta["pte"]["file"]).is_file()
    shutil.rmtree(tmp_path / "artifacts")
