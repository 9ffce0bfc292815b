"""A new run never mixes with an earlier one, and overwrites nothing of it."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_plan, a_result, a_session
from etprof.core.errors import UsageError
from etprof.core.plan import TRACE, Experiment
from etprof.core.run import BlockResult
from etprof.store.earlier_runs import list_earlier, list_joined
from etprof.store.run_folder import check_resumable, new_run_folder, prepare_run_folder, remove_unfinished
from etprof.store.session_file import load_session, save_session


def test_an_interrupted_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    save_session(folder, a_session(a_plan(folder), (a_result(),), stop_reason=""))
    before = snapshot(folder)
    with pytest.raises(UsageError, match="already holds a run, which was interrupted"), a_new_run(folder, "on"):
        pass
    assert snapshot(folder) == before


def test_a_run_of_the_same_experiments_moves_to_a_folder_inside(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    for count in (1, 2, 3):
        with a_new_run(folder, "off", "on"):
            assert not (folder / "manifest.json").exists()
            save_run(folder, f"run {count}")
    names = sorted(path.name for path in (folder / "earlier").iterdir())
    assert names == ["20260101T000000Z", "20260101T000000Z-2"], "by the time they were started"
    assert [(folder / "earlier" / name / "on/on_t1.etdump").read_text() for name in names] == ["run 1", "run 2"]
    assert (folder / "on/on_t1.etdump").read_text() == "run 3"
    assert load_session(folder / "earlier" / names[0]).plan.model.resolve() == (tmp_path / "model.pte").resolve()
    assert (folder / "earlier" / names[0] / "report.md").read_text() == "run 1"
    assert (folder / "earlier" / names[0] / "charts/a.svg").exists()
    assert (folder / "earlier" / names[0] / "model_explorer/on_t1_time.json").exists()


def test_a_run_of_other_experiments_stays_beside_the_newer_one(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    save_run(folder, "timing")
    with a_new_run(folder, "on_trace"):
        save_run(folder, "tracing", Experiment("on_trace", mode=TRACE))
    assert [e.name for e in load_session(folder).plan.experiments] == ["on_trace"]
    (beside,) = list_joined(folder)
    assert [e.name for e in beside.session.plan.experiments] == ["off", "on"]
    assert (folder / "on/on_t1.etdump").read_text() == "timing", "where it was"
    with a_new_run(folder, "off", "on"):
        save_run(folder, "timing again")
    assert [[e.name for e in each.session.plan.experiments] for each in list_joined(folder)] == [["on_trace"]]
    assert [(each.folder / "on/on_t1.etdump").read_text() for each in list_earlier(folder)] == ["timing"]
    assert (folder / "on/on_t1.etdump").read_text() == "timing again"
    assert (folder / "on_trace/on_trace_t1.etdump").read_text() == "tracing"


def test_a_folder_of_the_format_before_ours_moves_as_a_whole(tmp_path: Path) -> None:
    folder = tmp_path / "mac"
    (folder / "mac_sme2_on").mkdir(parents=True)
    (folder / "mac_sme2_on/mac_sme2_on_t1.etdump").write_text("theirs")
    (folder / "manifest.json").write_text('{"model": "m.pte", "results": []}')
    with a_new_run(folder, "other"):
        assert [path.name for path in folder.iterdir() if path.name != ".lock"] == ["earlier"]
    assert len(list(folder.glob("earlier/*/mac_sme2_on/mac_sme2_on_t1.etdump"))) == 1


def a_new_run(folder: Path, *experiments: str) -> AbstractContextManager[None]:
    return new_run_folder(folder, experiments, force=False)


def save_run(folder: Path, content: str, *experiments: Experiment) -> None:
    """A finished run of `a_plan`, or of these experiments, whose files say which it is."""
    plan = replace(a_plan(folder), model=folder.parent / "model.pte")
    plan = replace(plan, experiments=experiments, pairs=()) if experiments else plan
    results = tuple(a_result(e.name, etdump=f"{e.name}/{e.name}_t1.etdump") for e in plan.experiments)
    save_session(folder, a_session(plan, results, reports=("report.md",)))
    for name in (*(result.etdump for result in results), "report.md", "charts/a.svg", "model_explorer/on_t1_time.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("results", [(), (a_result(error="The model is damaged."),)])
def test_a_run_without_a_successful_block_does_not_stand_in_the_way(
    tmp_path: Path, results: tuple[BlockResult, ...]
) -> None:
    folder = tmp_path / "linux"
    save_session(folder, a_session(a_plan(folder), results))
    prepare_run_folder(folder, force=False)
    assert list(folder.iterdir()) == []
    (aside,) = tmp_path.glob("linux.*")
    assert load_session(aside).results == results


def test_the_current_folder_is_not_moved_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_session(tmp_path, a_session(a_plan(tmp_path), (a_result(),)))
    (tmp_path / "inside").mkdir()
    for place, folder in ((tmp_path, Path()), (tmp_path / "inside", tmp_path)):
        monkeypatch.chdir(place)
        with pytest.raises(UsageError, match="it is the current folder, or above it"):
            prepare_run_folder(folder, force=True)
    assert load_session(tmp_path)


def test_a_folder_that_cannot_be_understood_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"schema_version": 99}')
    with pytest.raises(UsageError, match="already holds a run, which cannot be read"), a_new_run(tmp_path, "on"):
        pass


def test_force_moves_the_older_run_aside_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    for _ in range(3):
        prepare_run_folder(folder, force=True)
        assert list(folder.iterdir()) == []
        save_session(folder, a_session(a_plan(folder)))
    assert len(list(tmp_path.glob("linux.*"))) == 2


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, None),
        ({"plan": a_plan(blocks=9)}, "the plan changed"),
        ({"model_sha256": "f" * 64}, "the model file changed"),
        ({"versions": {"executorch": "9"}}, "the installed versions changed"),
        ({"runner_sha256": {"runner": "f"}}, "the runner changed"),
        ({"runner_sha256": {"runner's libraries": "f"}}, "the runner's libraries changed"),
        ({"prepared": ("battery saver: 0",)}, "the settings of --prepare changed"),
    ],
)
def test_only_an_unchanged_run_can_be_resumed(changes: dict[str, Any], named: str | None) -> None:
    expected = pytest.raises(UsageError, match=named) if named else nullcontext()
    with expected:
        check_resumable(a_session(), a_session(**changes))


def test_what_was_not_finished_is_removed_and_nothing_behind_a_link(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "linux", tmp_path / "elsewhere"
    name = ".0123456789abcdef.part"
    for place in (folder, folder / "on", elsewhere):
        place.mkdir(parents=True)
        (place / name).touch()
    (folder / "earlier" / name).mkdir(parents=True)
    (folder / "link").symlink_to(elsewhere)
    (folder / "mine.part").touch()
    remove_unfinished(folder)
    assert sorted(path.name for path in folder.rglob("*.part")) == ["mine.part"]
    assert (elsewhere / name).exists()
