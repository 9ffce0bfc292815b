"""Two real exports of one model in one run: judged by time and by their distance to the eager model."""

from pathlib import Path

import pytest

from etprof.app.reporting import analyze
from etprof.app.runs import validate_run
from etprof.cli.main import main
from etprof.core.program_use import ProgramUse
from etprof.export.request import Quantization
from shared_exports import SharedExports

# They measure, with real runners.
pytestmark = [pytest.mark.alone, pytest.mark.exhaustive]
FEW = ("--blocks", "3", "--max-blocks", "3", "--runs", "5")


@pytest.fixture(scope="module")
def run(exported: SharedExports, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fp32 export against the INT8 one, whose loss of accuracy is accepted."""
    folder = tmp_path_factory.mktemp("real") / "run"
    whole, quantised = exported("toy_cnn"), exported("toy_cnn", quantization=Quantization())
    code = main([
        "check", str(whole.pte), str(quantised.pte), "--output-root", str(folder), "--output-tolerance", "0.1",
        "--tolerance", "500", *FEW,
    ])  # fmt: skip
    assert code in (0, 3), "five times the time is enough for an INT8 model, unless the machine is very noisy"
    return folder


def program_of(run: Path, experiment: str) -> ProgramUse:
    (found,) = [each.program for each in analyze(run).report.variants if each.experiment == experiment]
    assert found is not None
    return found


def test_the_accuracy_of_each_model_is_that_of_its_export(run: Path, exported: SharedExports) -> None:
    whole, quantised = exported("toy_cnn"), exported("toy_cnn", quantization=Quantization())
    for name, artifact in (("old", whole), ("new", quantised)):
        program, known = program_of(run, name), artifact.meta.numerics.worst_snr_db
        assert (program.model, program.precision) == (artifact.pte.name, artifact.meta.precision)
        assert known is not None
        # Kernels of another thread count or extension round elsewhere: of 120 dB a few may be lost.
        assert program.snr_db == pytest.approx(known, rel=0.1)
    assert validate_run(run, deep=True) == []


def test_both_models_are_explained(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(run)]) == 0
    text = capsys.readouterr().out
    assert "toy_cnn_xnnpack_fp32.pte, forward" in text
    assert "toy_cnn_xnnpack_q8.pte, forward" in text
