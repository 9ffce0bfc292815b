"""Blocks on a device: what good runs leave behind, and that bad ones are told apart and lose nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_device_info
from etprof.analysis.timing.speedup import estimate_speedup, log_ratios
from etprof.app.measuring import replay
from etprof.app.reporting import analyze
from etprof.core.errors import StoreError, UsageError
from etprof.core.findings import FindingKind
from etprof.core.plan import TRACE, Experiment, Pair, Plan, Variant
from etprof.core.run import Job, Session
from etprof.devices.local import LocalDevice
from etprof.runner.stock import build_stock_flags, identify_runner
from etprof.store.session_file import load_session
from etprof.store.validate import find_problems
from mounts import mounted
from scripted_device import Witness, a_runnable_plan, run_scripted, scripted_device
from stock_runner import make_stock_runner

OFF, ON = Variant("off", 1), Variant("on", 1)

# Every test here starts runners, and some of them have a time budget.
pytestmark = pytest.mark.alone


def run(plan: Plan, *, resume: bool = False) -> Session:
    return run_scripted(plan, resume=resume).session


def with_arguments(plan: Plan, *arguments: str) -> Plan:
    return replace(plan, experiments=tuple(replace(e, extra_args=arguments) for e in plan.experiments))


def test_variants_take_turns_forwards_and_backwards(tmp_path: Path) -> None:
    witness = Witness()
    run_scripted(a_runnable_plan(tmp_path), witness=witness)
    assert witness.started == [
        "off_t1#0",
        "on_t1#0",
        "on_t1#1",
        "off_t1#1",
        "off_t1#2",
        "on_t1#2",
        "on_t1#3",
        "off_t1#3",
    ]
    assert witness.begun_with == (4, 2, 0)


def test_every_thread_count_of_every_experiment_leaves_its_trace_log_and_latencies(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run(replace(plan, experiments=tuple(replace(each, threads=(1, 4)) for each in plan.experiments)))
    stems = [f"{name}/{name}_t{threads}" for name in ("off", "on") for threads in (1, 4)]
    for suffix in (".etdump", ".log", ".result.json"):
        assert sorted(str(p.relative_to(plan.output_root)) for p in plan.output_root.glob(f"*/*{suffix}")) == [
            f"{stem}{suffix}" for stem in stems
        ]
    assert all((plan.output_root / f"{stem}.etdump").stat().st_size for stem in stems)
    metrics = json.loads((plan.output_root / "metrics.json").read_bytes())["results"]
    assert sorted(f"{each['experiment']}_t{each['threads']}" for each in metrics) == [Path(s).name for s in stems]
    assert all(len(each["latency_ns"]) == 5 for each in metrics), "a number for each timed iteration"


def test_the_session_on_disk_is_the_session_returned(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path))
    assert load_session(session.plan.output_root) == session
    assert session.stop_reason == "all 4 planned rounds were run"
    assert {r.features_hidden for r in session.successful(OFF)} == {("avx512",)}


def test_the_traces_that_were_read_come_with_the_session(tmp_path: Path) -> None:
    measured = run_scripted(a_runnable_plan(tmp_path, off="short trace", blocks=2))
    assert set(measured.traces) == {"on/on_t1.etdump", "on/on_t1_b2.etdump"}, "a failed block's trace is not kept"
    assert {trace.run_count for trace in measured.traces.values()} == {2}


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("crash", "killed by signal 11"),
        ("refuse", "exit code 3"),
        ("garbage", "not a runner's result"),
        ("empty trace", "off_t1.etdump"),
        ("truncated trace", "off_t1.etdump"),
        ("short trace", "the trace holds 1 inferences, not 2"),
    ],
)
def test_a_bad_block_is_marked_with_its_reason_and_the_others_go_on(
    tmp_path: Path, behaviour: str, reason: str
) -> None:
    session = run(a_runnable_plan(tmp_path, off=behaviour, blocks=1))
    (failed,) = [r for r in session.results if not r.is_ok]
    assert failed.experiment == "off"
    assert reason in failed.error
    assert f"about to: {behaviour}" in failed.error, "the end of the log is quoted"
    assert len(session.successful(ON)) == 1


def test_a_plan_that_hides_what_the_device_lacks_ends_before_its_first_block(tmp_path: Path) -> None:
    plan, witness = a_runnable_plan(tmp_path), Witness()
    device = LocalDevice(scripted_device().command_for, a_device_info(features=("avx2",)))
    with pytest.raises(UsageError, match="off hides avx512, and the CPU of this machine has none of it") as caught:
        run_scripted(plan, device, witness)
    assert "its baseline hides avx2" in caught.value.hint
    assert witness.started == []
    assert not plan.output_root.exists()


def test_a_runner_that_hangs_is_stopped(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path, off="hang", blocks=1, timeout_s=1.0))
    assert "timed out after 1 s" in session.results[0].error
    assert session.results[0].duration_s < 10


def test_a_launcher_that_does_not_exist_fails_the_block_by_name(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, launcher=("no-such-launcher",)) for e in plan.experiments))
    assert "no-such-launcher cannot be started" in run(plan).results[0].error


def test_no_file_of_an_earlier_block_is_taken_for_a_result(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run(plan)
    folder = plan.output_root
    for name in ("manifest.json", "metrics.json"):
        (folder / name).unlink()
    assert len(list(folder.glob("*/*.etdump"))) == len(list(folder.glob("*/*.result.json"))) == 2
    session = run(with_arguments(plan, "--behave", "crash"))
    assert [r.is_ok for r in session.results] == [False, False]
    assert not [*folder.glob("*/*.etdump"), *folder.glob("*/*.result.json")]


def test_a_resumed_run_repeats_failed_blocks_only(tmp_path: Path) -> None:
    counted = tmp_path / "count"
    plan = a_runnable_plan(tmp_path, off="crash", blocks=2)
    plan = replace(
        plan,
        experiments=tuple(
            replace(e, extra_args=(*e.extra_args, "--count_file", str(counted))) for e in plan.experiments
        ),
    )
    run(plan)
    counted.unlink()
    run(plan, resume=True)
    assert sorted(counted.read_text().split()) == ["off_t1.result", "off_t1_b2.result"]


def test_an_interrupted_run_keeps_its_blocks_validate_explains_it_and_resume_finishes_it(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, on="interrupt", blocks=3)
    with pytest.raises(KeyboardInterrupt):
        run(plan)
    session = load_session(plan.output_root)
    assert [(r.variant, r.index) for r in session.results] == [(OFF, 0), (ON, 0)]
    assert any("interrupted after 2 blocks" in p for p in find_problems(plan.output_root))
    witness = Witness()
    manifest = plan.output_root / "manifest.json"
    manifest.write_text(manifest.read_text().replace("interrupt", "well"))
    calm = with_arguments(plan, "--behave", "well")
    finished = run_scripted(calm, witness=witness, resume=True).session
    assert witness.begun_with == (3, 2, 2)
    assert len(witness.started) == 4
    assert len(finished.results) == 6
    assert find_problems(plan.output_root) == []


def test_a_variant_whose_first_two_blocks_fail_the_same_way_is_not_run_again(tmp_path: Path) -> None:
    witness = Witness()
    plan = a_runnable_plan(tmp_path, off="empty trace", blocks=5, max_blocks=8)
    session = run_scripted(plan, witness=witness).session
    assert [r.variant for r in session.results].count(OFF) == 2
    assert len(session.successful(ON)) == 5, "the others go on, and no round is added for a pair that is gone"
    assert session.given_up == (OFF,)
    assert witness.heard == ["off, 1 thread is not run again: its first two blocks failed the same way (3)"]
    kinds = {finding.kind: finding for finding in analyze(plan.output_root).report.findings}
    assert "off, 1 thread was not run again" in kinds[FindingKind.GIVEN_UP].message
    assert "--resume" in kinds[FindingKind.GIVEN_UP].advice
    again = Witness()
    run_scripted(plan, witness=again, resume=True)
    assert again.started == ["off_t1#0", "off_t1#1"], "a resumed run tries it again"


def test_a_run_in_which_every_variant_fails_ends_after_two_rounds(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path, off="crash", on="refuse", blocks=9))
    assert len(session.results) == 4
    assert session.stop_reason.startswith("no variant is left to run")


def test_one_block_may_be_followed_by_rounds_that_are_added(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path, blocks=1, max_blocks=3))
    assert len(session.successful(ON)) == 3


def test_a_run_goes_on_with_the_same_runner_and_settings_only_and_keeps_its_notes(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, on="interrupt", blocks=2)
    with pytest.raises(KeyboardInterrupt):
        run_scripted(plan, runner_sha256={"runner": "a"}, prepared=("governor: performance",), notes=("set then",))
    for identity, changed in (
        ({"runner_sha256": {"runner": "b"}, "prepared": ("governor: performance",)}, "the runner changed"),
        ({"runner_sha256": {"runner": "a"}}, "the settings of --prepare changed"),
    ):
        with pytest.raises(UsageError, match=changed):
            run_scripted(plan, resume=True, **identity)
    manifest = plan.output_root / "manifest.json"
    manifest.write_text(manifest.read_text().replace("interrupt", "well"))
    calm = with_arguments(plan, "--behave", "well")
    session = run_scripted(
        calm, resume=True, runner_sha256={"runner": "a"}, prepared=("governor: performance",), notes=("set now",)
    ).session
    assert session.notes == ("set then", "set now")
    assert load_session(plan.output_root).prepared == ("governor: performance",)


def test_a_runner_that_an_experiment_names_must_be_the_same_when_the_run_is_resumed(tmp_path: Path) -> None:
    plan = with_stock_runner(tmp_path)
    run_scripted(plan, device_with_stock_runners())
    runner = tmp_path / "executor_runner"
    runner.write_text(runner.read_text() + "\n# another build\n")
    with pytest.raises(UsageError, match="the runner of stock changed"):
        run_scripted(plan, device_with_stock_runners(), resume=True)


def test_rounds_are_added_until_the_interval_is_narrow_and_no_longer(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3, max_blocks=12, target_precision=0.02)
    # The first round is off by three percent; its weight falls with every round that follows.
    device = scripted_device(lambda job: 4.0 if job.block.experiment.hide_isa else 2.0 + 0.06 * (job.block.index == 0))
    session = run_scripted(plan, device).session
    rounds = len(session.successful(ON))
    assert "narrower than 2.0%" in session.stop_reason
    assert 3 < rounds < 12
    ratios = log_ratios(session.successful(OFF), session.successful(ON))
    before, at_the_end = (estimate_speedup(part, plan.schedule.seed) for part in (ratios[:-1], ratios))
    assert before is not None
    assert at_the_end is not None
    assert (before.high - before.low) / 2 / before.value > 0.02, "a round earlier it was too wide"
    assert (at_the_end.high - at_the_end.low) / 2 / at_the_end.value <= 0.02


def test_rounds_are_added_for_steps_between_thread_counts_too(tmp_path: Path) -> None:
    """The pair is clear from the start; what a second thread gains is not."""
    plan = a_runnable_plan(tmp_path, blocks=3, max_blocks=5)
    plan = replace(plan, experiments=(plan.experiments[0], replace(plan.experiments[1], threads=(1, 2))))
    wild = scripted_device(lambda job: 2.0 + job.block.index % 3 * (job.block.threads == 2))
    session = run_scripted(plan, wild).session
    assert plan.compared == ((OFF, ON),)
    assert plan.thread_steps == ((ON, Variant("on", 2)),)
    assert session.stop_reason == "all 5 planned rounds were run"


def test_rounds_end_at_the_most_that_the_plan_allows(tmp_path: Path) -> None:
    wild = scripted_device(lambda job: 2.0 + job.block.index % 3 * (job.block.experiment.name == "on"))
    session = run_scripted(a_runnable_plan(tmp_path, blocks=3, max_blocks=5), wild).session
    assert session.stop_reason == "all 5 planned rounds were run"
    assert len(session.successful(ON)) == 5


def test_a_spent_time_budget_ends_the_run_and_says_so(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path, blocks=50, max_blocks=50, time_budget_s=0.5))
    assert session.stop_reason == "the time budget of 0.5 s is spent"
    assert 0 < len(session.results) < 50


def test_a_disturbed_block_is_run_again_and_both_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etprof.app.measuring._SHORTEST_PAUSE_S", 0.0)
    witness = Witness()
    plan = a_runnable_plan(tmp_path, off="busy", blocks=1, retries=2)
    session = run_scripted(plan, witness=witness).session
    assert witness.retried == ["a thread waited for a core 50.0 % of the time"] * 2
    assert session.results[0].is_ok
    assert session.results[0].retried == ("a thread waited for a core 50.0 % of the time; median 4.01 ms",) * 2


def test_trace_mode_times_nothing_and_keeps_the_samples(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, mode=TRACE) for e in plan.experiments))
    session = run(plan)
    assert [r.error for r in session.results] == ["", ""]
    assert {r.latency_ns for r in session.results} == {()}
    assert [r.samples for r in session.results] == ["off/off_t1.kernels", "on/on_t1.kernels"]


def test_a_missing_model_or_input_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path)
    plan.inputs[0].unlink()
    with pytest.raises(UsageError, match="There is no input file"):
        run(plan)
    plan.model.unlink()
    with pytest.raises(UsageError, match="There is no model"):
        run(plan)
    assert not plan.output_root.exists()


def with_stock_runner(folder: Path, **changes: Any) -> Plan:
    runner = make_stock_runner(folder / "executor_runner")
    experiment = replace(Experiment("stock", runs=6, runner_path=runner), **changes)
    return replace(a_runnable_plan(folder, blocks=3), experiments=(experiment,), pairs=())


def device_with_stock_runners() -> LocalDevice:
    """The scripted device, on which experiments may name a runner of their own."""
    ours = scripted_device()

    def command_for(job: Job) -> list[str]:
        path = job.block.experiment.runner_path
        return [str(path), *build_stock_flags(identify_runner(path), job)] if path else ours.command_for(job)

    return LocalDevice(command_for, ours.describe())


def test_a_stock_runner_is_driven_and_what_it_does_not_say_is_unknown(tmp_path: Path) -> None:
    session = run_scripted(with_stock_runner(tmp_path), device_with_stock_runners()).session
    assert [r.error for r in session.results] == ["", "", ""]
    first = session.results[0]
    assert (len(first.warmup_ns), len(first.latency_ns)) == (3, 6)
    assert (first.threads_in_force, first.load_ns) == (1, 1_250_000)
    assert (first.peak_bytes, first.outputs, first.etdump, first.features_seen) == (None, (), "", ())
    (variant,) = analyze(session.plan.output_root).report.variants
    assert variant.latency is not None
    assert (variant.latency.samples, variant.peak_bytes) == (18, None)


def test_outputs_that_a_stock_runner_does_not_report_are_unknown_and_not_different(tmp_path: Path) -> None:
    (stock,) = with_stock_runner(tmp_path).experiments
    plan = a_runnable_plan(tmp_path, blocks=3)
    plan = replace(plan, experiments=(plan.experiments[0], stock), pairs=(Pair("off", "stock"),))
    session = run_scripted(plan, device_with_stock_runners()).session
    assert [r.error for r in session.results] == [""] * 6
    assert {bool(r.outputs) for r in session.results if r.experiment == "off"} == {True}
    report = analyze(plan.output_root).report
    assert report.comparisons[0].output_difference is None
    kinds = [finding.kind for finding in report.findings]
    assert "outputs unknown" in kinds
    assert "outputs differ" not in kinds


@pytest.mark.parametrize(
    ("changes", "cannot"), [({"hide_isa": ("sme2",)}, "hide sme2"), ({"mode": TRACE}, "trace without timing")]
)
def test_what_a_stock_runner_cannot_do_is_said_before_anything_runs(
    tmp_path: Path, changes: dict[str, Any], cannot: str
) -> None:
    with pytest.raises(UsageError, match=f"cannot {cannot}"):
        run(with_stock_runner(tmp_path, **changes))
    assert not (tmp_path / "runs").exists()


def test_a_replay_gives_the_recorded_numbers_without_a_runtime(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    recorded = run(plan)
    plan.model.unlink()
    replayed = replay(plan.output_root, tmp_path / "replay", Witness(), force=False, command="replay").session
    assert [r.latency_ns for r in replayed.results] == [r.latency_ns for r in recorded.results]
    one, other = analyze(plan.output_root).report, analyze(tmp_path / "replay").report
    assert len(one.comparisons) == 1
    assert one.comparisons == other.comparisons
    assert any("nothing was executed" in finding.message for finding in other.findings)


def test_a_replay_needs_no_runner_that_the_recording_named(tmp_path: Path) -> None:
    stock = with_stock_runner(tmp_path).experiments[0]
    plan = a_runnable_plan(tmp_path, blocks=3)
    # A runner of ours that was named by its path leaves a result file, a stock one does not.
    ours = tmp_path / "etprof_runner"
    ours.write_text("etprof_runner: runs a .pte")
    named = replace(plan.experiments[1], name="ours", runner_path=ours)
    plan = replace(plan, experiments=(named, stock), pairs=())
    stocks, scripted = device_with_stock_runners(), scripted_device()

    def command_for(job: Job) -> list[str]:
        device = scripted if job.block.experiment.name == "ours" else stocks
        return device.command_for(job)

    recorded = run_scripted(plan, LocalDevice(command_for, scripted.describe())).session
    assert [r.error for r in recorded.results] == [""] * 6
    for path in (ours, tmp_path / "executor_runner"):
        path.unlink()
    replayed = replay(plan.output_root, tmp_path / "replay", Witness(), force=False, command="replay").session
    assert [r.error for r in replayed.results] == [""] * 6
    for variant in plan.variants:
        before, after = recorded.successful(variant), replayed.successful(variant)
        assert [(r.runner, r.warmup_ns, r.latency_ns) for r in after] == [
            (r.runner, r.warmup_ns, r.latency_ns) for r in before
        ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    with mounted(folder, "size=128k"):
        yield folder


def test_a_block_that_fills_the_disk_has_failed_and_the_others_go_on(tmp_path: Path, small_disk: Path) -> None:
    plan = replace(a_runnable_plan(tmp_path, off="fill the disk", blocks=2), output_root=small_disk / "run")
    run(plan)
    session = load_session(small_disk / "run")
    assert session.stop_reason == "all 2 planned rounds were run"
    assert len(session.successful(ON)) == 2
    failed = [r for r in session.results if not r.is_ok]
    assert [r.experiment for r in failed] == ["off", "off"]
    assert all("No space left on device" in r.error for r in failed)


def test_a_full_disk_ends_the_run_in_words_and_keeps_the_last_saved_state(tmp_path: Path, small_disk: Path) -> None:
    plan = replace(a_runnable_plan(tmp_path, blocks=40), output_root=small_disk / "run")
    with pytest.raises(StoreError, match="No space left on device"):
        run(plan)
    session = load_session(small_disk / "run")
    assert session.results, "blocks before the disk was full are kept"
    assert session.stop_reason == ""
