"""`etprof.check`: two models are measured and judged, and so are the folders of two runs."""

from pathlib import Path

import pytest

import etprof
from model_files import a_model_file
from scripted_device import a_steady_run
from scripted_kind import add_scripted_kind


def test_two_models_are_measured_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (a_model_file(tmp_path / name, "net") for name in ("old", "new"))
    check = etprof.check(
        old, new, device=add_scripted_kind(monkeypatch), blocks=3, max_blocks=3, output_root=tmp_path / "run"
    )
    assert check.outcome == "pass"
    assert check.summary.startswith("## net.pte: pass")
    assert check.run is not None
    assert [(row["experiment"], row["model"]) for row in check.run.latencies()] == [
        ("old", str(old)),
        ("new", str(new)),
    ]
    assert repr(check) == f"<Check {new} against {old}: pass>"


def test_two_runs_are_judged_and_a_run_and_a_model_are_not(tmp_path: Path) -> None:
    good, slower = a_steady_run(tmp_path / "good"), a_steady_run(tmp_path / "slower", 1.2)
    check = etprof.check(good, slower)
    assert (check.outcome, check.run) == ("fail", None)
    assert etprof.check(good, slower, tolerance=0.25).outcome == "pass"
    with pytest.raises(etprof.EtprofError, match="A model cannot be checked against a run"):
        etprof.check(good, tmp_path / "net.pte")
