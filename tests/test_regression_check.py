"""A finished run against a known-good one, from their files: real runs of toy_cnn, and runs of the scripted runner."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import run_etprof
from etprof.cli.main import main
from etprof.core.errors import UsageError
from etprof.core.plan import Experiment, Plan, Schedule
from etprof.core.regression import Outcome
from etprof.pipeline import local_device, run_plan
from etprof.regression_check import check_run
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session, save_session
from parts import need
from scripted_device import Witness, a_runnable_plan, scripted_device

Capture = pytest.CaptureFixture[str]


def measure_really(model: Path, folder: Path) -> Path:
    plan = Plan(model, folder, (Experiment("cpu", runs=10, traced_runs=2),), (), Schedule(blocks=4, max_blocks=4))
    device, _ = local_device("native")
    run_plan(plan, device, Witness(), command="test")
    return folder


@pytest.fixture(scope="module")
def real_runs(toy_cnn: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """toy_cnn as it should be, the same again, and exported without its delegate: the planted slow-down."""
    need(compiler_path(), "there is no C++ compiler")
    folder = tmp_path_factory.mktemp("real_runs")
    run_etprof("export", "toy_cnn", "--backend", "portable", "--outdir", str(folder / "artifacts"))
    good = toy_cnn / "toy_cnn_xnnpack_fp32.pte"
    return {
        "good": measure_really(good, folder / "good"),
        "again": measure_really(good, folder / "again"),
        "slow": measure_really(folder / "artifacts" / "toy_cnn_portable_fp32.pte", folder / "slow"),
    }


def test_a_real_run_passes_against_the_same_again(real_runs: dict[str, Path]) -> None:
    # Generous: other work on the machine must not decide this test.
    check = check_run(real_runs["again"], real_runs["good"], 3.0)
    assert check.outcome is Outcome.PASS, check
    (arm,) = check.arms
    assert arm.output_difference == 0.0
    assert arm.categories
    assert arm.slowdown is not None


def test_a_planted_slow_down_of_a_real_run_is_found(
    real_runs: dict[str, Path], tmp_path: Path, capsys: Capture
) -> None:
    summary = tmp_path / "summary.md"
    line = ["check", str(real_runs["slow"]), "--against", str(real_runs["good"])]
    assert main([*line, "--tolerance", "50", "--summary", str(summary)]) == 1
    text = summary.read_text(encoding="utf-8")
    assert capsys.readouterr().out == text
    assert "**fail**" in text
    assert "the whole interval lies beyond the tolerance" in text
    assert "The model file differs" in text
    assert check_run(real_runs["good"], real_runs["slow"], 0.05).outcome is Outcome.PASS


def scripted_run(folder: Path, factor: float = 1.0, *, on: str = "well", blocks: int = 4) -> Path:
    folder.mkdir()
    plan = a_runnable_plan(folder, on=on, blocks=blocks)
    device = scripted_device(lambda job: factor * (4.0 + 0.01 * job.block.index))
    run_plan(plan, device, Witness(), command="test")
    return plan.output_root


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return scripted_run(tmp_path / "good")


def test_the_exit_code_is_0_1_or_3(good: Path, tmp_path: Path, capsys: Capture) -> None:
    against = ["--against", str(good)]
    assert main(["check", str(scripted_run(tmp_path / "same")), *against]) == 0
    assert main(["check", str(scripted_run(tmp_path / "slower", 1.2)), *against]) == 1
    assert main(["check", str(scripted_run(tmp_path / "short", blocks=2)), *against]) == 3
    assert main(["check", str(tmp_path / "slower" / "runs" / "linux"), *against, "--tolerance", "25"]) == 0
    assert "tolerance 25.0 %" in capsys.readouterr().out


def test_failed_blocks_fail_the_check_even_where_none_ended_well(good: Path, tmp_path: Path) -> None:
    check = check_run(scripted_run(tmp_path / "broken", on="refuse"), good, 0.05)
    assert check.outcome is Outcome.FAIL
    (failure,) = check.failures
    assert "4 of 4 blocks of on_t1 failed" in failure
    folder = scripted_run(tmp_path / "ruined")
    session = load_session(folder)
    save_session(folder, replace(session, results=tuple(replace(r, error="no") for r in session.results)))
    assert check_run(folder, good, 0.05).outcome is Outcome.FAIL


def test_manifest_and_metrics_are_enough_of_the_known_good_run(good: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("manifest.json", "metrics.json"):
        shutil.copy(good / name, kept / name)
    check = check_run(scripted_run(tmp_path / "same"), kept, 0.05)
    assert check.outcome is Outcome.PASS, check
    assert any(finding.kind == "no traces" for finding in check.findings)


def test_an_emulated_run_is_inconclusive_on_the_command_line_too(good: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = scripted_run(tmp_path / "emulated")
    session = load_session(folder)
    save_session(folder, replace(session, device=replace(session.device, times_are_real=False)))
    assert main(["check", str(folder), "--against", str(good)]) == 3
    text = capsys.readouterr().out
    assert "was emulated: its times mean nothing" in text
    assert "4.00 ms" not in text


@pytest.mark.parametrize(("tolerance", "code"), [("-1", 2), ("much", 2)])
def test_a_tolerance_that_is_none_is_refused(tolerance: str, code: int, good: Path) -> None:
    assert main(["check", str(good), "--against", str(good), "--tolerance", tolerance]) == code


def test_a_run_is_not_checked_against_itself(good: Path) -> None:
    with pytest.raises(UsageError, match="against itself"):
        check_run(good, good, 0.05)
    assert main(["check", str(good), "--against", "none"]) == 2
