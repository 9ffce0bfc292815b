"""A run that is cut off at any point, by a kill or by a loss of power, keeps its saved blocks and can be finished."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from etprof.core.plan import Plan
from etprof.core.run import BlockResult
from etprof.devices.recorded import RecordedDevice
from etprof.store.earlier_runs import finish_moves, list_earlier, list_joined
from etprof.store.run_lock import hold_run_folder
from etprof.store.session_file import has_session, load_session
from etprof.store.validate import find_problems
from scripted_device import Witness, a_recording, a_runnable_plan, run_scripted
from write_recorder import Moment, Names, WriteRecorder, build_tree

LOSSES = ("kill", "all", "contents", "names", "lot", "lot", "lot")


class SavingWitness(Witness):
    """Tells the recorder which blocks the user was told of: those must be there, whatever happens."""

    def __init__(self, recorder: WriteRecorder) -> None:
        super().__init__()
        self._recorder = recorder

    def block_ended(self, result: BlockResult, left: object = None) -> None:
        super().block_ended(result)
        self._recorder.note = tuple(self.ended)


@dataclass(frozen=True)
class Recorded:
    plan: Plan
    device: RecordedDevice
    moments: list[Moment]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Every write of a whole run of four blocks, into a folder that was not there."""
    device = a_recording(tmp_path_factory.mktemp("recording") / "model")
    folder = tmp_path_factory.mktemp("recorded") / "model"
    folder.mkdir()
    plan = a_runnable_plan(folder, blocks=2)
    recorder = WriteRecorder(folder, ())
    with pytest.MonkeyPatch.context() as patch, recorder.recording(patch):
        run_scripted(plan, device, SavingWitness(recorder))
    return Recorded(plan, device, recorder.moments)


def leave(moment: Moment, loss: str, lot: Random, target: Path) -> None:
    after: dict[str, Callable[[], tuple[dict[int, Names], dict[int, bytes]]]] = {
        "kill": moment.after_a_kill,
        "all": moment.after_a_loss_of_all,
        "contents": moment.after_a_loss_of_contents,
        "names": moment.after_a_loss_of_names,
        "lot": lambda: moment.after_a_loss_by_lot(lot),
    }
    build_tree(target, *after[loss]())


def move_plan(plan: Plan, folder: Path) -> Plan:
    source = plan.model.parent
    return replace(
        plan,
        model=folder / plan.model.relative_to(source),
        output_root=folder / plan.output_root.relative_to(source),
        inputs=tuple(folder / path.relative_to(source) for path in plan.inputs),
    )


def check_cut(recorded: Recorded, at: int, number: int, target: Path) -> None:
    """Cuts the run off at a moment, with the loss of that number, and resumes it."""
    moment, loss = recorded.moments[at], LOSSES[number]
    leave(moment, loss, Random(f"{at} {number}"), target)
    plan = move_plan(recorded.plan, target)
    saved: tuple[BlockResult, ...] = moment.note
    if saved:
        assert load_session(plan.output_root).results[: len(saved)] == saved, f"{loss} at {at}: a block is gone"
    finished = run_scripted(plan, recorded.device, resume=plan.output_root.is_dir()).session
    assert finished.results[: len(saved)] == saved, f"{loss} at {at}: a block was run again"
    assert [result.is_ok for result in finished.results] == [True] * 4
    assert list(find_problems(plan.output_root)) == []
    assert list(plan.output_root.rglob("*.part")) == [], "what was not finished is removed"
    shutil.rmtree(target)


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What resumes is not cut off again."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("share", [3, pytest.param(1, marks=pytest.mark.exhaustive)], ids=["some points", "all points"])
def test_a_run_that_is_cut_off_anywhere_keeps_what_was_saved_and_is_finished(
    recorded: Recorded, tmp_path: Path, share: int
) -> None:
    """At every point, each with three of the losses by turns; a third of the points with one where time is short."""
    losses = 3 if share == 1 else 1
    cuts = [
        (at, (at + 2 * turn) % len(LOSSES)) for at in range(0, len(recorded.moments), share) for turn in range(losses)
    ]
    assert len(cuts) > 40 if share > 1 else len(cuts) > 350
    for at, number in cuts:
        check_cut(recorded, at, number, tmp_path / f"{at}-{number}")


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(
    "share", [6, pytest.param(2, marks=pytest.mark.exhaustive)], ids=["some points", "many points"]
)
@pytest.mark.parametrize(
    "other", ["", pytest.param("other_", marks=pytest.mark.exhaustive)], ids=["same experiments", "other experiments"]
)
def test_the_run_before_is_kept_wherever_the_next_is_cut_off(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str, share: int
) -> None:
    """It makes room for the next, which is cut off meanwhile or later, and resumed."""
    folder = tmp_path / "model"
    folder.mkdir()
    plan = a_runnable_plan(folder, blocks=2)
    experiments = tuple(replace(each, name=f"{other}{each.name}") for each in plan.experiments)
    pairs = tuple(replace(pair, baseline=f"{other}off", candidate=f"{other}on") for pair in plan.pairs)
    before = run_scripted(replace(plan, experiments=experiments, pairs=pairs)).session
    recorder = WriteRecorder(folder, ())
    with monkeypatch.context() as patch, recorder.recording(patch):
        run_scripted(plan, recorded.device)
    for at in range(0, len(recorder.moments), share):
        target = tmp_path / str(at)
        leave(recorder.moments[at], LOSSES[at // share % len(LOSSES)], Random(at), target)
        root = move_plan(plan, target).output_root
        finished = run_scripted(move_plan(plan, target), recorded.device, resume=has_newest(root, other)).session
        assert [result.is_ok for result in finished.results] == [True] * 4
        found = [(root, finished), *((each.folder, each.session) for each in (*list_joined(root), *list_earlier(root)))]
        places = [place for place, session in found if session.results == before.results]
        assert len(places) == 1, f"cut off at {at}"
        assert all((places[0] / result.etdump).is_file() for result in before.results), f"cut off at {at}"
        shutil.rmtree(target)


def has_newest(root: Path, other: str) -> bool:
    """Whether there is a run to resume: where the two are of other experiments, the first is none for the second."""
    if not other or not has_session(root):
        return True
    with hold_run_folder(root):
        finish_moves(root)
    return has_session(root) and load_session(root).plan.experiments[0].name == "off"


def test_the_recorder_knows_what_a_loss_of_power_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is synced in a folder that is not may be gone, and one that is renamed unsynced may be empty."""
    recorder = WriteRecorder(tmp_path)
    with recorder.recording(monkeypatch):
        (tmp_path / "folder").mkdir()
        with (tmp_path / "folder" / "synced").open("w") as file:
            file.write("text")
            file.flush()
            os.fsync(file.fileno())
        (tmp_path / "part").write_text("text")
        (tmp_path / "part").rename(tmp_path / "whole")
    last = recorder.moments[-1]
    assert last.after_a_loss_of_all()[0][0] == {}
    names, contents = last.after_a_loss_of_contents()
    folder, whole = names[0]["folder"], names[0]["whole"]
    assert contents[names[folder]["synced"]] == b"text"
    assert whole not in contents
