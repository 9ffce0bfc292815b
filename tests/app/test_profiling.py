"""From a model to a measured run with the real runtime: the runner asked for, real gains, and an end at Ctrl-C."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etprof.app.devices import DeviceRequest
from etprof.app.profiling import RunOptions, profile, run_on, sample_kernels
from etprof.app.reporting import analyze
from etprof.app.runs import MeasuredRun
from etprof.core.errors import UsageError
from etprof.core.estimates import Verdict
from etprof.core.kernel_evidence import Executed
from etprof.core.plan import Experiment, Plan, Schedule
from etprof.core.run import Session
from etprof.runner.build import ensure_runner
from etprof.runner.cpu_features import present_features
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session
from parts import need
from scripted_device import Witness

ONE_ROUND = Schedule(blocks=1, max_blocks=1, retries=0)

pytestmark = pytest.mark.alone


def profile_once(model: Path, folder: Path, runner: str) -> MeasuredRun:
    request = DeviceRequest("local", runner=runner)
    return profile(model, request, Witness(), RunOptions("test"), output_root=folder, schedule=ONE_ROUND)


def need_a_wide_extension() -> None:
    features = present_features()
    need("avx512f" in features or "sme2" in features, "this CPU has neither AVX-512 nor SME2")


def test_a_real_run_shows_the_extensions_speed_up(real_run: Session) -> None:
    need_a_wide_extension()
    (comparison,) = analyze(real_run.plan.output_root).report.comparisons
    assert comparison.verdict is Verdict.FASTER, comparison
    assert comparison.speedup is not None
    assert comparison.speedup.low > 1.0
    shifts = {shift.name: shift for shift in comparison.categories}
    convolution, movement = shifts["Convolution"].speedup, shifts["Data Movement"].speedup
    assert convolution is not None
    assert movement is not None
    assert convolution > movement, "matrix work gains, data movement does not"
    assert shifts["Data Movement"].candidate_share > shifts["Data Movement"].baseline_share


def test_a_real_runs_categories_add_up_and_agree_with_the_clock(real_run: Session) -> None:
    for variant in analyze(real_run.plan.output_root).report.variants:
        assert variant.accounting is not None
        assert variant.latency is not None
        assert sum(row.total_ns for row in variant.categories) == variant.accounting.end_to_end_ns
        traced_ms = variant.accounting.per_run_ms(variant.accounting.end_to_end_ns)
        # Medians of other iterations of the same program: a made-up total would not lie this near.
        assert 0.5 < traced_ms / variant.latency.median_ms < 3.0
        assert variant.unmatched_names == ()


def test_both_variants_ran_the_same_bytes_and_gave_the_same_answer(real_run: Session) -> None:
    (comparison,) = analyze(real_run.plan.output_root).report.comparisons
    assert comparison.output_difference is not None
    assert comparison.output_difference < 1e-3
    for variant in real_run.plan.variants:
        digests = {o.sha256 for r in real_run.successful(variant) for o in r.outputs}
        assert len(digests) == 1, "one answer, the same in all blocks"


def test_a_real_model_is_sampled_with_its_extension_shown_and_hidden(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    need_a_wide_extension()
    request = DeviceRequest("local", runner="native")
    measured = sample_kernels(
        toy_cnn / "toy_cnn_xnnpack_fp32.pte", request, Witness(), RunOptions("test"),
        output_root=tmp_path / "run", blocks=1, seconds=0.5,
    )  # fmt: skip
    assert [r.error for r in measured.session.results] == ["", ""]
    found = {
        variant.evidence.shown: {row.executed for row in variant.evidence.operators if row.category == "Convolution"}
        for variant in analyze(tmp_path / "run").report.variants
        if variant.evidence
    }
    assert Executed.YES in found[True]
    assert Executed.YES not in found[False]


def test_the_python_runner_is_used_when_asked_for_and_said(toy_cnn: Path, tmp_path: Path) -> None:
    measured = profile_once(toy_cnn / "toy_cnn_xnnpack_fp32.pte", tmp_path / "run", "python")
    assert {r.runner for r in measured.session.results} == {"python"}
    assert any("Python runner" in finding.message for finding in analyze(tmp_path / "run").report.findings)


def test_a_model_without_known_inputs_is_run_with_ones_and_the_report_says_so(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    shutil.copy(toy_cnn / "toy_cnn_xnnpack_fp32.pte", tmp_path / "bare.pte")
    measured = profile_once(tmp_path / "bare.pte", tmp_path / "run", "native")
    assert [r.error for r in measured.session.results] == ["", ""]
    messages = [finding.message for finding in analyze(tmp_path / "run").report.findings]
    assert any("bare.pte: inputs filled with ones" in message for message in messages)


def test_a_plan_is_run_as_it_was_written(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    model, experiment = toy_cnn / "toy_cnn_xnnpack_fp32.pte", Experiment("cpu", runs=3, traced_runs=1, threads=(1, 2))
    plan = Plan(model, tmp_path / "run", (experiment,), (), ONE_ROUND)
    measured = run_on(DeviceRequest("local", runner="native"), plan, Witness(), RunOptions("typed"))
    assert [(r.variant.stem, len(r.latency_ns)) for r in measured.session.results] == [("cpu_t1", 3), ("cpu_t2", 3)]
    assert measured.session.command == "typed"
    again = run_on(DeviceRequest("local", runner="native"), plan, Witness(), RunOptions("again"))
    assert again.session.command == "again"
    (earlier,) = (tmp_path / "run/earlier").iterdir()
    assert load_session(earlier).results == measured.session.results


@pytest.mark.parametrize("run", [profile, sample_kernels])
def test_a_missing_model_is_refused_before_a_device_is_opened(run: object, tmp_path: Path) -> None:
    assert callable(run)
    with pytest.raises(UsageError, match=r"There is no model .*none\.pte"):
        run(tmp_path / "none.pte", DeviceRequest("ssh", "nobody@nowhere.invalid"), Witness(), RunOptions("test"))


def test_control_c_keeps_the_finished_blocks_and_says_so(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    ensure_runner()
    model = str(toy_cnn / "toy_cnn_xnnpack_fp32.pte")
    command = [sys.executable, "-m", "etprof", "profile", model, "--output-root", str(tmp_path / "run")]
    command += ["--blocks", "50"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("run/*/*_b2.result.json")):
            assert time.monotonic() < deadline
            assert process.poll() is None, "it ended before it could be interrupted"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "every finished block is kept" in said
    assert "Traceback" not in said
    assert load_session(tmp_path / "run").results
