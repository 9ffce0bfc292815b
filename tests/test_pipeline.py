"""From a model to a report with the real runtime, and from a stored run with none."""

import json
import shutil
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from etprof.core.errors import DependencyError, TraceError, UsageError
from etprof.core.plan import Experiment, Pair, Plan, Schedule
from etprof.core.report import Verdict
from etprof.core.run import DeviceInfo, Job, Session
from etprof.devices.emulated import EmulatedDevice
from etprof.devices.local import LocalDevice
from etprof.pipeline import analyze, compare, default_plan, local_device, replay, run_plan, select_experiments, validate
from etprof.runner.cpu_features import present_features
from etprof.runner.stock import build_stock_command, identify_runner
from etprof.runner.toolchain import compiler_path
from etprof.store.session_file import load_session
from parts import need
from scripted_device import Witness, a_runnable_plan, scripted_device

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def real_run(toy_cnn: Path) -> Session:
    """toy_cnn with this CPU's best extension hidden and shown, by the native runner."""
    need(compiler_path(), "there is no C++ compiler")
    # Six rounds on a quiet machine; a busy one needs more.
    schedule = Schedule(max_blocks=40, time_budget_s=150.0)
    plan = default_plan(toy_cnn / "toy_cnn_xnnpack_fp32.pte", None, schedule)
    device, note = local_device("native")
    assert note == ""
    return run_plan(plan, device, Witness(), command="etprof profile toy_cnn_xnnpack_fp32.pte")


def test_a_real_run_shows_the_extensions_speed_up(real_run: Session) -> None:
    need("avx512f" in present_features() or "sme2" in present_features(), "this CPU has neither AVX-512 nor SME2")
    (comparison,) = analyze(real_run.plan.output_root).comparisons
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
    for arm in analyze(real_run.plan.output_root).arms:
        assert arm.accounting is not None
        assert arm.latency is not None
        assert sum(row.total_ns for row in arm.categories) == arm.accounting.end_to_end_ns
        traced_ms = arm.accounting.per_run_ms(arm.accounting.end_to_end_ns)
        # Medians of other iterations of the same program: a made-up total would not lie this near.
        assert 0.5 < traced_ms / arm.latency.median_ms < 3.0
        assert arm.unmatched_names == ()


def test_both_arms_ran_the_same_bytes_and_gave_the_same_answer(real_run: Session) -> None:
    (comparison,) = analyze(real_run.plan.output_root).comparisons
    assert comparison.output_difference is not None
    assert comparison.output_difference < 1e-3
    digests = {o.sha256 for r in real_run.results for o in r.outputs}
    assert len(digests) == 2, "one answer for each arm, the same in all of its blocks"


def test_a_real_run_is_valid_and_names_no_path_of_this_machine(real_run: Session) -> None:
    folder = real_run.plan.output_root
    problems = validate(folder, deep=True)
    assert [p for p in problems if "is missing; `etprof report" not in p] == []
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".etdump":
            assert str(ROOT).encode() not in path.read_bytes(), path
            assert str(Path.home()).encode() + b"/" not in path.read_bytes(), path


def test_the_python_runner_is_used_when_asked_for_and_said(toy_cnn: Path, tmp_path: Path) -> None:
    device, note = local_device("python")
    plan = default_plan(
        toy_cnn / "toy_cnn_xnnpack_fp32.pte", tmp_path / "run", Schedule(blocks=1, max_blocks=1, retries=0)
    )
    session = run_plan(plan, device, Witness(), command="test", notes=(note,))
    assert {r.runner for r in session.results} == {"python"}
    assert any("Python runner" in f.message for f in analyze(tmp_path / "run").findings)


def test_the_default_plan_is_for_the_devices_cpu_and_short_where_times_mean_nothing() -> None:
    info = DeviceInfo("emulated", "Linux", "arm64", "", 2, ("sme", "sme2"), times_are_real=False)
    device = EmulatedDevice(lambda _: [], info)
    plan = default_plan(Path("out_toy_cnn/artifacts/toy.pte"), None, Schedule(max_blocks=20), device)
    assert plan.output_root == Path("out_toy_cnn/runs/emulated")
    assert [(e.name, "sme2" in e.hide_isa) for e in plan.experiments] == [
        ("emulated_sme2_off", True),
        ("emulated_sme2_on", False),
    ]
    assert {(e.runs, e.traced_runs, e.warmup.maximum) for e in plan.experiments} == {(1, 1, 0)}
    assert (plan.schedule.blocks, plan.schedule.max_blocks) == (1, 1)
    real = default_plan(
        Path("toy.pte"), None, Schedule(max_blocks=20), EmulatedDevice(lambda _: [], replace(info, times_are_real=True))
    )
    assert (real.experiments[0].runs, real.schedule.max_blocks) == (20, 20)


def test_a_replay_gives_the_recorded_numbers_without_a_runtime(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    recorded = run_plan(plan, scripted_device(), Witness(), command="test")
    plan.model.unlink()
    replayed = replay(plan.output_root, tmp_path / "replay", Witness(), force=False, command="replay")
    assert [r.latency_ns for r in replayed.results] == [r.latency_ns for r in recorded.results]
    (one,), (other,) = analyze(plan.output_root).comparisons, analyze(tmp_path / "replay").comparisons
    assert one == other
    assert any("nothing was executed" in f.message for f in analyze(tmp_path / "replay").findings)


def test_two_runs_are_compared_by_what_tells_their_folders_apart(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    for name, factor in (("old", 1.0), ("new", 0.8)):
        device = scripted_device(lambda job, factor=factor: 2.0 * factor + job.block.index * 0.001)  # type: ignore[misc]
        run_plan(replace(plan, output_root=tmp_path / name), device, Witness(), command="test")
    report = compare(tmp_path / "old", tmp_path / "new")
    assert report.comparisons[0].baseline == "old: off"
    assert report.comparisons[0].verdict is Verdict.FASTER
    with pytest.raises(UsageError, match="given twice"):
        compare(tmp_path / "old", tmp_path / "old")


STOCK = """#!/usr/bin/env python3
# Prints what a stock executor_runner prints: model_path, inputs, num_executions, cpu_threads.
import sys
flags = dict(arg[2:].split("=", 1) for arg in sys.argv[1:])
count = int(flags["num_executions"])
for i in range(count):
    print(f"I 00:00:00 executor_runner.cpp:1] Iteration {i + 1} of {count}: {3.5 + i % 2} ms")
print(f"I 00:00:00 executor_runner.cpp:1] Model executed successfully {count} time(s) in {4.0 * count} ms.")
"""


def with_stock_runner(folder: Path, **changes: object) -> Plan:
    runner = folder / "executor_runner"
    runner.write_text(STOCK)
    runner.chmod(runner.stat().st_mode | stat.S_IEXEC)
    experiment = replace(Experiment("stock", runs=6, runner_path=runner), **changes)  # type: ignore[arg-type]
    return replace(a_runnable_plan(folder, blocks=3), experiments=(experiment,), pairs=())


def test_a_stock_runner_is_driven_and_what_it_cannot_tell_is_unknown(tmp_path: Path) -> None:
    need(find_spec("executorch"), "executorch is not installed")
    device, _ = local_device("python")
    session = run_plan(with_stock_runner(tmp_path), device, Witness(), command="test")
    assert [r.error for r in session.results] == ["", "", ""]
    first = session.results[0]
    assert (len(first.warmup_ns), len(first.latency_ns)) == (3, 6)
    assert (first.peak_bytes, first.threads_in_force, first.etdump) == (None, None, "")
    (arm,) = analyze(session.plan.output_root).arms
    assert arm.latency is not None
    assert arm.latency.load_ms is None


def test_outputs_that_a_stock_runner_does_not_tell_are_unknown_and_not_different(tmp_path: Path) -> None:
    (stock,) = with_stock_runner(tmp_path).experiments
    plan = a_runnable_plan(tmp_path, blocks=3)
    plan = replace(plan, experiments=(plan.experiments[0], stock), pairs=(Pair("off", "stock"),))
    ours = scripted_device()

    def command_for(job: Job) -> list[str]:
        path = job.block.experiment.runner_path
        return build_stock_command(identify_runner(path), job) if path else ours.command_for(job)

    session = run_plan(plan, LocalDevice(command_for, ours.describe()), Witness(), command="test")
    assert [r.error for r in session.results] == [""] * 6
    assert {bool(r.outputs) for r in session.results if r.experiment == "off"} == {True}
    report = analyze(plan.output_root)
    assert report.comparisons[0].output_difference is None
    kinds = [finding.kind for finding in report.findings]
    assert "outputs unknown" in kinds
    assert "outputs differ" not in kinds


def test_what_a_stock_runner_cannot_do_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot hide sme2"):
        run_plan(with_stock_runner(tmp_path, hide_isa=("sme2",)), scripted_device(), Witness(), command="test")
    assert not (tmp_path / "runs").exists()


def test_only_the_named_experiments_are_run(tmp_path: Path) -> None:
    plan = select_experiments(a_runnable_plan(tmp_path), ("on",))
    assert [e.name for e in plan.experiments] == ["on"]
    assert plan.pairs == ()
    with pytest.raises(UsageError, match="no experiment 'onn'"):
        select_experiments(plan, ("onn",))


def test_a_model_without_known_inputs_is_fed_with_ones_and_the_report_says_so(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    shutil.copy(toy_cnn / "toy_cnn_xnnpack_fp32.pte", tmp_path / "bare.pte")
    plan = default_plan(tmp_path / "bare.pte", tmp_path / "run", Schedule(blocks=1, max_blocks=1, retries=0))
    device, _ = local_device("native")
    session = run_plan(plan, device, Witness(), command="test")
    assert all(r.is_ok for r in session.results)
    assert any("bare.pte was fed with ones" in f.message for f in analyze(tmp_path / "run").findings)


def test_a_missing_input_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path)
    plan.inputs[0].unlink()
    with pytest.raises(UsageError, match="There is no input file"):
        run_plan(plan, scripted_device(), Witness(), command="test")
    assert not plan.output_root.exists()


def test_a_trace_that_was_damaged_later_is_one_sentence(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run_plan(plan, scripted_device(), Witness(), command="test")
    (plan.output_root / "on/on_t1.etdump").write_bytes(b"\0" * 64)
    with pytest.raises(TraceError, match=r"on_t1\.etdump"):
        analyze(plan.output_root)


@pytest.mark.parametrize("after_s", [0.6, 1.1, 1.9])
def test_a_killed_run_is_explained_by_validate_and_finished_by_resume(
    toy_cnn: Path, tmp_path: Path, after_s: float
) -> None:
    need(compiler_path(), "there is no C++ compiler")
    local_device("native")
    config = tmp_path / "plan.json"
    plan = {
        "model": str(toy_cnn / "toy_cnn_xnnpack_fp32.pte"),
        "output_root": str(tmp_path / "run"),
        "experiments": [{"name": "one", "runs": 40}, {"name": "other", "runs": 40}],
        "schedule": {"blocks": 8, "retries": 0},
    }
    config.write_text(json.dumps(plan))
    command = [sys.executable, "-m", "etprof", "run", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "run/manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(after_s)
        process.kill()
    problems = validate(tmp_path / "run", deep=True)
    assert any("interrupted" in problem or "No block was run" in problem for problem in problems)
    finished = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert validate(tmp_path / "run", deep=True) == []
    assert len(load_session(tmp_path / "run").results) == 16


def test_control_c_keeps_the_finished_blocks_and_says_so(toy_cnn: Path, tmp_path: Path) -> None:
    need(compiler_path(), "there is no C++ compiler")
    local_device("native")
    model = str(toy_cnn / "toy_cnn_xnnpack_fp32.pte")
    command = [sys.executable, "-m", "etprof", "profile", model, "--output-root", str(tmp_path / "run")]
    command += ["--blocks", "50"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("run/*/*_b2.result.json")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "every finished block is kept" in said
    assert "Traceback" not in said
    assert load_session(tmp_path / "run").results


def test_without_the_pinned_executorch_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etprof.export.dependencies.installed_version", lambda name: "1.4.0")
    with pytest.raises(DependencyError, match=r"executorch==1\.5\.1 \(found 1\.4\.0\)") as caught:
        local_device("auto")
    assert caught.value.hint == "Run: pip install executorch==1.5.1"
