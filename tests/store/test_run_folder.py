"""A new run never mixes with an older one."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from builders import a_plan, a_result, a_session
from etprof.core.errors import UsageError
from etprof.core.run import BlockResult
from etprof.store.run_folder import check_resumable, prepare_run_folder
from etprof.store.session_file import load_session, save_session


def test_a_folder_with_a_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    save_session(folder, a_session(a_plan(folder), (a_result(),)))
    with pytest.raises(UsageError, match="already holds a run"):
        prepare_run_folder(folder, force=False)
    assert load_session(folder)


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
    with pytest.raises(UsageError, match="already holds a run"):
        prepare_run_folder(tmp_path, force=False)


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
