"""A new run never mixes with an older one."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from builders import a_plan, a_session
from etprof.core.errors import UsageError
from etprof.store.run_folder import check_resumable, prepare_run_folder
from etprof.store.session_file import load_session, save_session


def test_a_folder_with_a_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "linux"
    save_session(folder, a_session(a_plan(folder)))
    with pytest.raises(UsageError, match="already holds a run"):
        prepare_run_folder(folder, force=False)
    assert load_session(folder)


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
    ],
)
def test_only_an_unchanged_run_can_be_resumed(changes: dict[str, Any], named: str | None) -> None:
    expected = pytest.raises(UsageError, match=named) if named else nullcontext()
    with expected:
        check_resumable(a_session(), a_session(**changes))
