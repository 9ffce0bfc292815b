"""Finished runs against each other, from their files: real runs of toy_cnn, and runs of the scripted runner."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.devices import DeviceRequest
from etprof.app.gate import check_run, compare
from etprof.app.profiling import RunOptions, run_on
from etprof.core.errors import StoreError, UsageError
from etprof.core.estimates import Verdict
from etprof.core.layout import label_folders
from etprof.core.plan import Experiment, Plan, Schedule, Variant, Warmup
from etprof.core.regression import Outcome
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session, save_session
from parts import need
from scripted_device import Witness, a_steady_run
from shared_exports import SharedExports


def measure_really(model: Path, folder: Path) -> Path:
    # Without its delegate the model is many times slower.
    experiment = Experiment("cpu", runs=4, traced_runs=1, warmup=Warmup(1, 3))
    plan = Plan(model, folder, (experiment,), (), Schedule(blocks=4, max_blocks=4, retries=0))
    run_on(DeviceRequest("local", runner="native"), plan, Witness(), RunOptions("test"))
    return folder


@pytest.fixture(scope="module")
def real_runs(exported: SharedExports, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """toy_cnn as it should be, the same again, and exported without its delegate: the planted slow-down."""
    need(compiler_path(), "there is no C++ compiler")
    folder = tmp_path_factory.mktemp("real_runs")
    good, slow = exported("toy_cnn").pte, exported("toy_cnn", backend="portable").pte
    return {
        "good": measure_really(good, folder / "good"),
        "again": measure_really(good, folder / "again"),
        "slow": measure_really(slow, folder / "slow"),
    }


@pytest.mark.alone
def test_a_real_run_passes_against_the_same_again(real_runs: dict[str, Path]) -> None:
    # Generous: other work on the machine must not decide this test.
    check = check_run(real_runs["again"], real_runs["good"], 3.0)
    assert check.outcome is Outcome.PASS, check
    (variant,) = check.variants
    assert variant.output_difference == 0.0
    assert variant.categories
    assert variant.slowdown is not None


@pytest.mark.alone
def test_a_planted_slow_down_of_a_real_run_is_found(real_runs: dict[str, Path]) -> None:
    check = check_run(real_runs["slow"], real_runs["good"], 0.5)
    assert check.outcome is Outcome.FAIL
    assert [variant.reason for variant in check.variants] == ["the whole interval lies beyond the tolerance"]
    assert any("The model file differs" in finding.message for finding in check.findings)
    assert check_run(real_runs["good"], real_runs["slow"], 0.05).outcome is Outcome.PASS


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nothing here changes it."""
    return a_steady_run(tmp_path_factory.mktemp("known") / "good")


def test_a_run_passes_fails_or_is_undecided(good: Path, tmp_path: Path) -> None:
    slower = a_steady_run(tmp_path / "slower", 1.2)
    assert check_run(a_steady_run(tmp_path / "same"), good, 0.05).outcome is Outcome.PASS
    assert check_run(slower, good, 0.05).outcome is Outcome.FAIL
    assert check_run(slower, good, 0.25).outcome is Outcome.PASS
    assert check_run(a_steady_run(tmp_path / "short", blocks=2), good, 0.05).outcome is Outcome.INCONCLUSIVE


def test_failed_blocks_fail_the_check_even_where_none_succeeded(good: Path, tmp_path: Path) -> None:
    check = check_run(a_steady_run(tmp_path / "broken", on="refuse"), good, 0.05)
    assert check.outcome is Outcome.FAIL
    (failure,) = check.failures
    assert "2 of 2 blocks of on_t1 failed" in failure
    folder = a_steady_run(tmp_path / "ruined")
    session = load_session(folder)
    save_session(folder, replace(session, results=tuple(replace(r, error="no") for r in session.results)))
    assert check_run(folder, good, 0.05).outcome is Outcome.FAIL


def test_manifest_and_metrics_are_enough_of_the_known_good_run(good: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("manifest.json", "metrics.json"):
        shutil.copy(good / name, kept / name)
    check = check_run(a_steady_run(tmp_path / "same"), kept, 0.05)
    assert check.outcome is Outcome.PASS, check
    assert any(finding.kind == "no traces" for finding in check.findings)


def test_an_emulated_run_is_undecided(good: Path, tmp_path: Path) -> None:
    folder = a_steady_run(tmp_path / "emulated")
    session = load_session(folder)
    save_session(folder, replace(session, device=replace(session.device, times_are_real=False)))
    check = check_run(folder, good, 0.05)
    assert check.outcome is Outcome.INCONCLUSIVE
    assert all("was emulated" in variant.reason for variant in check.variants)
    assert [(variant.slowdown, variant.medians_ms[1]) for variant in check.variants] == [(None, None)] * 2


def test_two_runs_are_compared_by_what_tells_their_folders_apart(good: Path, tmp_path: Path) -> None:
    folders = [good, a_steady_run(tmp_path / "new", 0.8)]
    labels = label_folders(folders)
    report = compare(*folders)
    assert report.comparisons[0].baseline == Variant(f"{labels[0]}: off", 1)
    assert report.comparisons[0].candidate == Variant(f"{labels[1]}: off", 1)
    assert {comparison.verdict for comparison in report.comparisons} == {Verdict.FASTER}
    assert len(report.comparisons) == 2
    with pytest.raises(UsageError, match="given twice"):
        compare(good, good)


def test_a_run_is_not_checked_against_itself(good: Path) -> None:
    with pytest.raises(UsageError, match="against itself"):
        check_run(good, good, 0.05)
    with pytest.raises(StoreError, match="manifest"):
        check_run(good, good.parent, 0.05)
