"""Plans on a real scheduler with worker processes: gathered once, whatever dies on the way."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from etprof.app.fleet.cluster import SchedulerLostError, connected
from etprof.app.fleet.runs import FleetOutcome, FleetRequest, list_devices, run_fleet
from etprof.app.fleet.words import FleetWords
from etprof.app.history import build_trends
from etprof.app.runs import validate_run
from etprof.core.errors import DeviceError, UsageError
from etprof.core.layout import METRICS, RUN_LOCK
from etprof.store.plan_file import save_plan
from etprof.store.session_file import load_session
from fleet_etprof import TestFleet, wait_until
from scripted_device import a_runnable_plan
from scripted_etprof import find_processes

pytestmark = [pytest.mark.alone, pytest.mark.exhaustive]


def write_plan(folder: Path, name: str = "plan", *, on: str = "well", **schedule: float) -> Path:
    """A plan of two variants; with a `cooldown_s` its run takes long enough to be disturbed."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    wanted: dict[str, Any] = {"blocks": 2, **schedule}
    save_plan(path, a_runnable_plan(folder, on=on, **wanted))
    return path


def run(fleet: TestFleet, out: Path, *plans: Path, told: list[str] | None = None, **options: object) -> FleetOutcome:
    said = [] if told is None else told
    request = FleetRequest(out, fleet.address, command="test", **options)  # type: ignore[arg-type]
    return run_fleet(plans, request, FleetWords(said.append))


def count_tasks(fleet: TestFleet) -> int:
    with connected(fleet.address) as cluster:
        return int(cluster._client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_each_plan_runs_on_each_device_that_matches(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone", "scripted:tablet=2")
    fleet.start_worker("shared:board")
    plans = [write_plan(tmp_path / "a", blocks=3), write_plan(tmp_path / "b", blocks=3)]
    assert [device.name for device in list_devices(fleet.address)] == [
        "scripted:phone",
        "scripted:tablet=2",
        "shared:board",
    ]
    assert [device.name for device in list_devices(fleet.address, "chip-board")] == ["shared:board"]
    outcome = run(fleet, tmp_path / "out", *plans, on="scripted", history=tmp_path / "h.duckdb")
    assert outcome.is_complete
    folders = [str(folder.relative_to(tmp_path / "out")) for folder in outcome.folders]
    assert sorted(folders) == [
        "plan-2/scripted_phone", "plan-2/scripted_tablet_2", "plan/scripted_phone", "plan/scripted_tablet_2",
    ]  # fmt: skip
    for folder in outcome.folders:
        assert validate_run(folder, deep=True) == []
    assert load_session(outcome.folders[0]).plan.model == tmp_path / "a" / "model.pte"
    assert outcome.report is not None
    assert {gain.device: gain.verdict for gain in outcome.report.gains} == {
        "scripted:phone": "faster", "scripted:tablet": "faster",
    }  # fmt: skip
    assert "avx512 makes it faster on 2 of 2 devices" in (tmp_path / "out" / "combined_report.html").read_text()
    # Nothing stays on the worker but files that the next plan may need.
    assert list((fleet.spool / "jobs").iterdir()) == []
    assert count_tasks(fleet) == 0


def test_any_one_device_will_do_and_models_are_sent_once(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone", "scripted:tablet")
    told: list[str] = []
    outcome = run(fleet, tmp_path / "out", write_plan(tmp_path / "a"), anywhere=True, repeat=6, told=told)
    assert outcome.is_complete
    assert len(outcome.folders) == 6
    assert {result.device for result in outcome.results} == {"scripted:phone", "scripted:tablet"}
    # Model and input; the plan itself goes with the order.
    assert len(list((fleet.spool / "files").iterdir())) == 2


def test_devices_of_one_machine_take_turns(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("shared:one", "shared:other")
    outcome = run(fleet, tmp_path / "out", write_plan(tmp_path / "a", cooldown_s=0.5))
    spans = []
    for folder in outcome.folders:
        starts = [result.started_at for result in load_session(folder).results]
        spans.append((min(starts), max(starts)))
    (_, first_ends), (second_begins, _) = sorted(spans)
    assert first_ends <= second_begins


def test_a_killed_worker_goes_on_with_its_finished_blocks(fleet: TestFleet, tmp_path: Path) -> None:
    worker = fleet.start_worker("scripted:phone")
    process = fleet.run(write_plan(tmp_path / "a", blocks=3, cooldown_s=0.7), "--out", tmp_path / "out", "--wait")
    wait_until(lambda: list(fleet.spool.glob("jobs/*/run/*/*_b2.result.json")), "the second round has begun")
    worker.kill()
    worker.wait()
    (metrics,) = fleet.spool.glob(f"jobs/*/run/{METRICS}")
    wait_until(lambda: not (metrics.parent / RUN_LOCK).exists(), "the run's process ends with its worker")
    before = load_session(metrics.parent).results
    fleet.start_worker("scripted:phone")
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    after = load_session(tmp_path / "out" / "plan" / "scripted_phone").results
    assert len(before) >= 2
    assert after[: len(before)] == before
    assert len(after) == 6


def test_a_plan_goes_on_elsewhere_when_its_worker_is_killed(fleet: TestFleet, tmp_path: Path) -> None:
    workers = [fleet.start_worker("scripted:phone"), fleet.start_worker("scripted:tablet")]
    plan = write_plan(tmp_path / "a", blocks=2, cooldown_s=0.5)
    process = fleet.run(plan, "--out", tmp_path / "out", "--any", "--repeat", "3")
    wait_until(lambda: len(list(fleet.spool.glob(f"jobs/*/run/{METRICS}"))) == 2, "both have begun")
    workers[0].kill()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "its worker was lost" in said
    assert "3 runs of 3 arrived" in said


def test_a_worker_that_stalls_is_taken_for_lost(fleet: TestFleet, tmp_path: Path) -> None:
    worker = fleet.start_worker("scripted:phone")
    fleet.start_worker("scripted:tablet")
    plan = write_plan(tmp_path / "a", blocks=2, cooldown_s=0.5)
    worker.send_signal(signal.SIGSTOP)
    told: list[str] = []
    try:
        outcome = run(fleet, tmp_path / "out", plan, anywhere=True, repeat=2, told=told, silence_s=3.0)
    finally:
        worker.send_signal(signal.SIGCONT)
    assert outcome.is_complete
    assert {result.device for result in outcome.results} == {"scripted:tablet"}
    assert any("its worker was lost" in text for text in told)


def test_a_device_that_fails_three_times_is_set_aside(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone", "broken:tablet")
    told: list[str] = []
    outcome = run(fleet, tmp_path / "out", write_plan(tmp_path / "a"), repeat=2, told=told)
    assert outcome.set_aside == {"broken:tablet": "tablet has a broken cable."}
    missing = [(result.device, result.reason) for result in outcome.results if not result.has_arrived]
    assert missing == [("broken:tablet", "broken:tablet was set aside: tablet has a broken cable.")] * 2
    assert len(outcome.folders) == 2
    assert not outcome.is_complete
    assert any("is set aside: it failed 3 times in a row" in text for text in told)
    # Elsewhere its plans go on.
    assert run(fleet, tmp_path / "any", write_plan(tmp_path / "a"), anywhere=True, repeat=4).is_complete


def test_a_plan_that_no_device_can_run_says_why(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone")
    plan = write_plan(tmp_path / "a")
    plan.write_text(plan.read_text().replace("avx512", "amx"))
    for anywhere in (False, True):
        outcome = run(fleet, tmp_path / f"out{anywhere}", plan, anywhere=anywhere)
        (result,) = outcome.results
        assert "hides amx" in result.reason
        assert outcome.set_aside == {}


def test_a_lost_scheduler_keeps_what_arrived_and_resume_goes_on(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone")
    quick, slow = write_plan(tmp_path / "a", "quick"), write_plan(tmp_path / "b", "slow", cooldown_s=0.5)
    process = fleet.run(quick, slow, "--out", tmp_path / "out")
    kept = tmp_path / "out" / "quick" / "scripted_phone" / METRICS
    wait_until(kept.exists, "the first run has arrived")
    before = kept.stat()
    assert fleet.scheduler is not None
    fleet.scheduler.kill()
    fleet.scheduler.wait()
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 1, said
    assert "does not answer any more. 1 of 2 runs have arrived" in said
    assert "Traceback" not in said
    fleet.start_scheduler()
    wait_until(lambda: list_devices(fleet.address), "the worker is back")
    assert run(fleet, tmp_path / "out", quick, slow, resume=True).is_complete
    assert kept.stat() == before


def test_an_interrupt_leaves_the_cluster_clean_and_resume_goes_on(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone")
    plan = write_plan(tmp_path / "a", blocks=3, cooldown_s=0.5)
    process = fleet.run(plan, "--out", tmp_path / "out")
    wait_until(lambda: list(fleet.spool.glob("jobs/*/run/*/*_b2.result.json")), "the second round has begun")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "--resume" in said
    assert "Traceback" not in said
    (metrics,) = fleet.spool.glob(f"jobs/*/run/{METRICS}")
    wait_until(lambda: not (metrics.parent / RUN_LOCK).exists(), "the run has ended")
    assert not find_processes(fleet.spool / "jobs")
    wait_until(lambda: count_tasks(fleet) == 0, "the scheduler has forgotten the task")
    before = load_session(metrics.parent).results
    assert run(fleet, tmp_path / "out", plan, resume=True).is_complete
    assert load_session(tmp_path / "out" / "plan" / "scripted_phone").results[: len(before)] == before


def test_a_client_that_is_killed_leaves_no_run_behind(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone")
    process = fleet.run(write_plan(tmp_path / "a", blocks=3, cooldown_s=1.0), "--out", tmp_path / "out")
    wait_until(lambda: list(fleet.spool.glob(f"jobs/*/run/{METRICS}")), "the run has begun")
    process.kill()
    process.communicate()
    (lock,) = fleet.spool.glob(f"jobs/*/run/{RUN_LOCK}")
    wait_until(lambda: not lock.exists(), "the run has ended")


def test_what_is_there_is_not_taken_for_another_run(fleet: TestFleet, tmp_path: Path) -> None:
    fleet.start_worker("scripted:phone")
    plan, other = write_plan(tmp_path / "a"), write_plan(tmp_path / "b")
    run(fleet, tmp_path / "out", plan)
    with pytest.raises(UsageError, match="already holds the runs of a fleet"):
        run(fleet, tmp_path / "out", plan)
    other.write_text(other.read_text().replace('"off"', '"before"'))
    with pytest.raises(UsageError, match="runs of other plans"):
        run(fleet, tmp_path / "out", other, resume=True)


def test_who_matches_nothing_learns_the_labels(fleet: TestFleet, tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "a")
    with pytest.raises(DeviceError, match="No worker offers a device"):
        run(fleet, tmp_path / "out", plan)
    fleet.start_worker("scripted:phone")
    with pytest.raises(DeviceError, match="No device has the label sme2") as error:
        run(fleet, tmp_path / "out", plan, on="sme2 and scripted")
    assert "chip-phone" in error.value.hint


def test_a_scheduler_that_is_not_there_is_named() -> None:
    with pytest.raises(DeviceError, match=r"No scheduler answers at tcp://127\.0\.0\.1:1\b"):
        list_devices("127.0.0.1:1")
    assert issubclass(SchedulerLostError, DeviceError)


def test_nothing_listens_for_other_machines(fleet: TestFleet, tmp_path: Path) -> None:
    import psutil

    worker = fleet.start_worker("scripted:phone")
    up = start_up(fleet)
    run(fleet, tmp_path / "out", write_plan(tmp_path / "a"))
    places = [
        each.laddr.ip
        for process in (worker, up)
        for each in psutil.Process(process.pid).net_connections(kind="inet")
        if each.status == psutil.CONN_LISTEN
    ]
    assert len(places) >= 4
    assert set(places) == {"127.0.0.1"}


def start_up(fleet: TestFleet) -> "subprocess.Popen[bytes]":
    """`etprof fleet up`, with a scheduler of its own."""
    script = str(Path(__file__).parents[2] / "fleet_etprof.py")
    address = f"127.0.0.1:{fleet.port + 1}"
    return fleet.start_etprof(
        script, "fleet", "up", "--scheduler", address, "--device", "scripted:mine", "--spool", str(fleet.spool / "up"),
        offers=2,
    )  # fmt: skip


def test_up_offers_this_machine_and_what_is_named(fleet: TestFleet) -> None:
    start_up(fleet)
    names = [device.name for device in list_devices(f"127.0.0.1:{fleet.port + 1}")]
    assert "scripted:mine" in names
    assert any(name.startswith("local@") for name in names)


def test_a_planted_regression_is_found_in_the_history(fleet: TestFleet, tmp_path: Path) -> None:
    """Eight runs of a device, and eight after it became 8 % slower."""
    plan, history = write_plan(tmp_path / "a"), tmp_path / "lab.duckdb"
    for factor in ("1", "1.08"):
        worker = fleet.start_worker(f"scripted:phone={factor}")
        assert run(fleet, tmp_path / factor, plan, repeat=8, history=history).is_complete
        worker.terminate()
        worker.wait()
    for trend in build_trends(history):
        assert len(trend.points) == 16
        # One in twenty flat series has a small step by chance.
        step = max(trend.steps, key=lambda each: abs(each.change))
        assert step.index in (7, 8, 9)
        assert step.change == pytest.approx(0.08, abs=0.02)
