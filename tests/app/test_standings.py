"""Races on a device: who is worse gets no more blocks, the run ends when all is decided, and goes on where it ended."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.measuring import replay
from etprof.app.reporting import analyze
from etprof.app.standings import SEPARATED
from etprof.core.errors import UsageError
from etprof.core.plan import Plan
from etprof.core.run import Job, Session
from etprof.store.session_file import load_session
from etprof.store.validate import find_problems
from exploration_builder import BUILDS, a_race_plan, an_exploration
from scripted_device import Witness, run_scripted, scripted_device

pytestmark = pytest.mark.alone


def latency(job: Job) -> float:
    """In turns a little more or less; fp16 is clearly slower here than fp32, so that every order is decided."""
    name = job.block.experiment.name
    base = 24.0 if name == "fp16" else BUILDS[name][0]
    return base / 10 * (1 + 0.001 * ((job.block.index * 7 + len(name)) % 3))


def race(
    plan: Plan, witness: Witness | None = None, *, resume: bool = False, by: Callable[[Job], float] = latency
) -> Session:
    device = scripted_device(by)
    return run_scripted(plan, device, witness, resume=resume, exploration=an_exploration()).session


def count_blocks(session: Session) -> dict[str, int]:
    return {name: sum(r.experiment == name for r in session.results) for name in BUILDS}


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Session, Witness]:
    witness = Witness()
    return race(a_race_plan(tmp_path_factory.mktemp("race")), witness), witness


def test_the_race_ends_when_the_front_is_separated(raced: tuple[Session, Witness]) -> None:
    session, _ = raced
    assert session.stop_reason == SEPARATED
    assert max(count_blocks(session).values()) < 12


def test_who_is_surely_worse_gets_no_more_blocks_and_is_told(raced: tuple[Session, Witness]) -> None:
    session, witness = raced
    (dropped,) = session.dropped
    assert dropped.variant.experiment == "static_per_tensor"
    assert count_blocks(session)["static_per_tensor"] == dropped.rounds < max(count_blocks(session).values())
    assert any(text.startswith("static_per_tensor, 1 thread is dropped: static_per_channel") for text in witness.heard)


def test_the_session_on_disk_is_the_session_returned(raced: tuple[Session, Witness]) -> None:
    session, _ = raced
    assert load_session(session.plan.output_root) == session
    assert find_problems(session.plan.output_root) == []


def test_the_report_of_the_folder_has_the_choice(raced: tuple[Session, Witness]) -> None:
    choice = analyze(raced[0].plan.output_root).report.choice
    assert choice is not None
    assert choice.fastest is not None
    assert choice.fastest.experiment == "static_per_channel"
    assert choice.ties == ()


def test_next_steps_are_for_builds_that_were_not_dropped(raced: tuple[Session, Witness]) -> None:
    steps = analyze(raced[0].plan.output_root).report.next_steps
    builds = {step.variant.experiment for step in steps if step.variant}
    assert builds
    assert "static_per_tensor" not in builds


def test_a_race_that_was_cut_off_goes_on_without_those_that_were_dropped(tmp_path: Path) -> None:
    plan = a_race_plan(tmp_path, max_blocks=6)

    def cut_off(job: Job) -> float:
        if job.block.index == 5:
            raise KeyboardInterrupt
        # In turns faster and slower than fp32, so that their order stays open.
        return 1.9 + 0.2 * (job.block.index % 2) if job.block.experiment.name == "fp16" else latency(job)

    with pytest.raises(KeyboardInterrupt):
        race(plan, by=cut_off)
    older = load_session(plan.output_root)
    assert older.stop_reason == ""
    assert older.dropped != ()
    witness = Witness()
    session = race(plan, witness, resume=True)
    assert session.dropped[: len(older.dropped)] == older.dropped
    names = {text.partition("_t1#")[0] for text in witness.started}
    assert not names & {each.variant.experiment for each in older.dropped}
    assert session.stop_reason


def close_ones(job: Job) -> float:
    """fp16 and fp32 in turns faster and slower than each other, so that their order stays open."""
    return 2.0 + 0.2 * (job.block.index % 2) if job.block.experiment.name == "fp16" else latency(job)


def test_who_is_known_against_all_others_rests_while_others_are_open(tmp_path: Path) -> None:
    session = race(a_race_plan(tmp_path, max_blocks=12), by=close_ones)
    counted = count_blocks(session)
    dropped = {each.variant.experiment for each in session.dropped}
    assert counted["fp16"] == counted["fp32"] == 12
    rested = {name: count for name, count in counted.items() if count < 12 and name not in dropped}
    assert "static_per_channel" in rested
    assert all(count >= session.plan.schedule.blocks for count in rested.values())
    assert find_problems(session.plan.output_root) == []


@pytest.mark.exhaustive
def test_rounds_in_which_a_variant_rested_are_not_made_up_for(tmp_path: Path) -> None:
    plan, last = a_race_plan(tmp_path, max_blocks=24), 9

    def cut_off(job: Job) -> float:
        if job.block.index > last:
            raise KeyboardInterrupt
        return close_ones(job)

    def again_open(job: Job) -> float:
        """fp16 is in turns faster and slower than the one that rested, which has to run again."""
        return 0.2 + 4.0 * (job.block.index % 2) if job.block.experiment.name == "fp16" else latency(job)

    def list_rounds(session: Session) -> set[int]:
        return {result.index for result in session.results if result.experiment == "static_per_channel"}

    with pytest.raises(KeyboardInterrupt):
        race(plan, by=cut_off)
    before = list_rounds(load_session(plan.output_root))
    assert before != set(range(last + 1)), "it rested"
    later = list_rounds(race(plan, resume=True, by=again_open)) - before
    assert later
    assert min(later) >= last


def test_a_race_may_go_on_with_more_time_but_not_with_another_plan(tmp_path: Path) -> None:
    plan = a_race_plan(tmp_path, time_budget_s=0.5)
    first = race(plan, by=lambda _: 2.0)
    assert first.stop_reason == "the time budget of 0.5 s is spent"
    more = replace(plan, schedule=replace(plan.schedule, time_budget_s=60.0, max_blocks=12))
    session = race(more, resume=True, by=lambda _: 2.0)
    assert len(session.results) > len(first.results)
    with pytest.raises(UsageError, match="since it began the plan changed"):
        race(replace(plan, schedule=replace(plan.schedule, seed=7)), resume=True)


def test_a_race_can_be_replayed(raced: tuple[Session, Witness], tmp_path: Path) -> None:
    session, _ = raced
    again = replay(session.plan.output_root, tmp_path / "again", Witness(), force=False, command="test").session
    assert again.dropped == session.dropped
    assert count_blocks(again) == count_blocks(session)
