"""Blocks on a device: what good runs leave behind, and that bad ones are told apart and lose nothing."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_result
from etprof.core.errors import StoreError
from etprof.core.plan import TRACE, Plan
from etprof.core.run import CpuState, Session
from etprof.measurement import find_disturbance
from etprof.pipeline import run_plan
from etprof.store.session_file import load_session
from etprof.store.validate import find_problems
from parts import need
from scripted_device import Witness, a_runnable_plan, scripted_device


def run(plan: Plan, *, resume: bool = False) -> Session:
    return run_plan(plan, scripted_device(), Witness(), command="test", resume=resume)


def test_arms_take_turns_forwards_and_backwards(tmp_path: Path) -> None:
    witness = Witness()
    run_plan(a_runnable_plan(tmp_path), scripted_device(), witness, command="test")
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


def test_the_session_on_disk_is_the_session_returned(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path))
    assert load_session(session.plan.output_root) == session
    assert session.stop_reason == "all 4 planned rounds were run"
    assert {r.features_hidden for r in session.results_of("off", 1)} == {("avx512",)}


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
    assert len(session.results_of("on", 1)) == 1


def test_a_runner_that_hangs_is_stopped(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path, off="hang", blocks=1, timeout_s=1.0))
    assert "no end after 1 s" in session.results[0].error
    assert session.results[0].duration_s < 10


def test_a_launcher_that_is_not_there_fails_the_block_by_name(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, launcher=("no-such-launcher",)) for e in plan.experiments))
    assert "no-such-launcher cannot be started" in run(plan).results[0].error


def test_no_file_of_an_earlier_block_is_taken_for_a_result(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run(plan)
    worse = replace(plan, experiments=tuple(replace(e, extra_args=("--behave", "crash")) for e in plan.experiments))
    folder = plan.output_root
    stored = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").unlink()
    (folder / "metrics.json").unlink()
    assert stored
    session = run(worse)
    assert [r.is_ok for r in session.results] == [False, False]
    assert not list(folder.glob("*/*.etdump"))


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
    assert [(r.key, r.index) for r in session.results] == [("off_t1", 0), ("on_t1", 0)]
    assert any("interrupted after 2 blocks" in p for p in find_problems(plan.output_root))
    witness = Witness()
    calm = replace(plan, experiments=tuple(replace(e, extra_args=("--behave", "well")) for e in plan.experiments))
    (plan.output_root / "manifest.json").write_text(
        (plan.output_root / "manifest.json").read_text().replace("interrupt", "well")
    )
    finished = run_plan(calm, scripted_device(), witness, command="test", resume=True)
    assert witness.begun_with == (3, 2, 2)
    assert len(witness.started) == 4
    assert len(finished.results) == 6
    assert not [p for p in find_problems(plan.output_root) if "report" not in p and "summary" not in p]


def test_rounds_are_added_until_the_interval_is_narrow(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3, max_blocks=12, target_precision=0.05)
    noisy = scripted_device(
        lambda job: (4.0 if job.block.experiment.hide_isa else 2.0) * (1 + 0.1 * (job.block.index < 2))
    )
    session = run_plan(plan, noisy, Witness(), command="test")
    assert "narrower" in session.stop_reason
    assert len(session.results_of("on", 1)) == 3
    wild = scripted_device(lambda job: 2.0 + job.block.index % 3 * (job.block.experiment.name == "on"))
    plan = replace(a_runnable_plan(tmp_path, blocks=3, max_blocks=5), output_root=tmp_path / "wild")
    session = run_plan(plan, wild, Witness(), command="test")
    assert session.stop_reason == "all 5 planned rounds were run"


def test_a_spent_time_budget_ends_the_run_and_says_so(tmp_path: Path) -> None:
    session = run(a_runnable_plan(tmp_path, blocks=50, max_blocks=50, time_budget_s=0.5))
    assert session.stop_reason == "the time budget of 0.5 s is spent"
    assert 0 < len(session.results) < 50


def test_a_disturbed_block_is_run_again_and_both_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("etprof.measurement._LONGEST_PAUSE_S", 0.0)
    witness = Witness()
    plan = a_runnable_plan(tmp_path, off="busy", blocks=1, retries=2)
    session = run_plan(plan, scripted_device(), witness, command="test")
    assert witness.retried == ["the load average was 99.0 on 2 cores"] * 2
    assert session.results[0].is_ok
    assert session.results[0].retried == ("the load average was 99.0 on 2 cores; median 4.01 ms",) * 2


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (CpuState((2_000_000,)), CpuState((2_000_000,)), ""),
        (CpuState((2_000_000,)), CpuState((1_000_000,)), "frequency moved by 50.0 %"),
        (CpuState(temperature_c=97.0), CpuState(), "hotter than 95 C"),
        (CpuState(load_average=3.5), CpuState(), "load average was 3.5"),
        (CpuState(load_average=2.5), CpuState(), ""),
    ],
)
def test_disturbances_are_read_from_the_cpu_state(before: CpuState, after: CpuState, said: str) -> None:
    found = find_disturbance(a_result(cpu_before=before, cpu_after=after), cpu_count=2)
    assert said in found
    assert bool(found) == bool(said)


def test_trace_mode_times_nothing(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    plan = replace(plan, experiments=tuple(replace(e, mode=TRACE) for e in plan.experiments))
    session = run(plan)
    assert all(r.is_ok and r.latency_ns == () for r in session.results)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    need(shutil.which("mount"), "a tmpfs needs mount")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)], capture_output=True)
    need(mounted.returncode == 0, "mounting a tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_block_that_fills_the_disk_has_failed_and_the_others_go_on(tmp_path: Path, small_disk: Path) -> None:
    plan = replace(a_runnable_plan(tmp_path, off="fill the disk", blocks=2), output_root=small_disk / "run")
    run(plan)
    session = load_session(small_disk / "run")
    assert session.stop_reason == "all 2 planned rounds were run"
    assert len(session.results_of("on", 1)) == 2
    failed = [r for r in session.results if not r.is_ok]
    assert [r.experiment for r in failed] == ["off", "off"]
    assert all("No space left on device" in r.error for r in failed)


def test_a_disk_with_no_room_at_all_ends_the_run_in_words_and_keeps_the_last_saved_state(
    tmp_path: Path, small_disk: Path
) -> None:
    plan = replace(a_runnable_plan(tmp_path, blocks=40), output_root=small_disk / "run")
    with pytest.raises(StoreError, match="No space left on device"):
        run(plan)
    session = load_session(small_disk / "run")
    assert session.results, "blocks before the disk was full are kept"
    assert session.stop_reason == ""
