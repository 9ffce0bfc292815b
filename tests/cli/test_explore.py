"""`etprof explore` in the words of its options, with real exports and the runner of the tests."""

import json
from pathlib import Path

import pytest

import etprof
from etprof.cli.main import main
from etprof.store.session_file import load_session
from scripted_kind import add_scripted_kind

Capture = pytest.CaptureFixture[str]
pytestmark = [pytest.mark.alone, pytest.mark.usefixtures("libraries")]

MODEL = """
import torch
from torch import nn
from etprof.core.model import EagerModelBase
from etprof.export.registry import register_model

class Model(EagerModelBase):
    def get_eager_model(self):
        return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3))

    def get_example_inputs(self):
        return (torch.randn(1, 3, 8, 8),)

register_model("tiny", Model)
"""
SHORT = ["--dtypes", "fp32", "--schemes", "static_per_channel,linear_dynamic_8bit", "--threads", "1"]
OUT = "out_tiny/runs/linux_explore"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model is, and its exports, which are made once."""
    folder = tmp_path_factory.mktemp("explore")
    (folder / "model_profiling" / "models" / "tiny").mkdir(parents=True)
    (folder / "model_profiling" / "models" / "tiny" / "model.py").write_text(MODEL, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    add_scripted_kind(monkeypatch)


@pytest.mark.exhaustive
def test_a_model_becomes_a_front_and_a_sentence(capsys: Capture) -> None:
    assert main(["explore", "tiny", *SHORT, "--device", "scripted", "--force"]) == 0
    said = capsys.readouterr()
    assert "Builds\n" in said.out
    assert "linear_dynamic_8bit" in said.out
    assert "not measured, The model has no linear layer" in " ".join(said.out.split())
    assert "The weights are random" in said.out
    assert "build 3 of 3: linear_dynamic_8bit" in said.err
    written = json.loads((Path(OUT) / "analysis_summary.json").read_text(encoding="utf-8"))
    assert [row["experiment"] for row in written["choice"]["rows"]] == [
        "fp32",
        "static_per_channel",
        "linear_dynamic_8bit",
    ]
    assert (Path(OUT) / "charts" / "pareto.svg").is_file()


@pytest.mark.exhaustive
def test_what_was_written_is_a_run_like_any_other(capsys: Capture) -> None:
    assert main(["validate", OUT]) == 0, capsys.readouterr().out
    assert main(["report", OUT, "--format", "console"]) == 0
    assert "Builds\n" in capsys.readouterr().out
    assert main(["history", "add", OUT, "--file", "lab.duckdb"]) == 0, capsys.readouterr().err


@pytest.mark.exhaustive
def test_it_goes_on_with_what_was_decided_and_takes_another_floor(capsys: Capture) -> None:
    before = load_session(Path(OUT))
    assert main(["explore", "tiny", *SHORT, "--device", "scripted", "--resume", "--min-snr", "500"]) == 0
    said = capsys.readouterr()
    assert "build 1 of" not in said.err, "nothing is exported again"
    assert "No build reaches an SNR of at least 500 dB" in " ".join(said.out.split())
    assert load_session(Path(OUT)).results == before.results


@pytest.mark.exhaustive
def test_other_builds_are_another_run(capsys: Capture) -> None:
    assert main(["explore", "tiny", "--dtypes", "fp16", "--device", "scripted", "--resume"]) == 2
    assert "since it began other builds or thread counts were asked for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["tiny", "--dtypes", "none", "--schemes", "none"], "No build is asked for"),
        (["model.pte"], "explore exports a model in several precisions, by its name"),
        (["tiny", "--runtimes", "tflite"], "There is no runtime called 'tflite'"),
        (["tiny", "--budget", "soon"], "'soon' is not a duration"),
        (["tinny"], "There is no model called 'tinny'"),
    ],
)
def test_what_cannot_be_explored_is_said_before_anything_is_exported(
    capsys: Capture, options: list[str], words: str
) -> None:
    assert main(["explore", *options, "--device", "scripted"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.exhaustive
def test_the_same_from_python() -> None:
    run = etprof.explore(
        "tiny", dtypes=["fp32"], schemes="static_per_channel", threads=1, device="scripted", output_root="from_python",
        min_snr=1,
    )  # fmt: skip
    assert run.answer.startswith("Fastest")
    assert [row["experiment"] for row in run.builds()] == ["fp32", "static_per_channel"]
    assert list(run.layers()) == []
