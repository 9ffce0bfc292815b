"""One process at a time writes to a run's folder; whoever comes second learns who the first is."""

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from etprof.core.errors import StoreError
from etprof.store.run_lock import hold_run_folder, refuse_held
from lock_holder import held_by_another


def test_the_second_learns_who_the_first_is_and_since_when(tmp_path: Path) -> None:
    with held_by_another(tmp_path) as holder:
        started_at = json.loads((tmp_path / ".lock").read_text())["started_at"]
        who = f"process {holder.pid} on {platform.node()}, which started at {started_at}"
        with pytest.raises(StoreError) as refused:
            refuse_held(tmp_path)
        with pytest.raises(StoreError) as raised, hold_run_folder(tmp_path):
            pass
        assert raised.value.message == refused.value.message == f"{tmp_path} is being written by {who}."


def test_a_lock_of_a_dead_process_does_not_block(tmp_path: Path) -> None:
    with held_by_another(tmp_path) as holder:
        holder.kill()
        holder.wait()
        assert (tmp_path / ".lock").exists()
        refuse_held(tmp_path)
        with hold_run_folder(tmp_path):
            assert json.loads((tmp_path / ".lock").read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_who_holds_a_folder_may_enter_it_again_and_nothing_is_left(tmp_path: Path) -> None:
    with hold_run_folder(tmp_path):
        with hold_run_folder(tmp_path / "."):
            refuse_held(tmp_path)
        assert (tmp_path / ".lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_the_lock_goes_with_a_folder_that_is_moved(tmp_path: Path) -> None:
    folder, aside = tmp_path / "run", tmp_path / "aside"
    folder.mkdir()
    with hold_run_folder(folder):
        folder.rename(aside)
        folder.mkdir()
        with hold_run_folder(folder):
            assert (folder / ".lock").exists()
            assert (aside / ".lock").exists()
    assert [list(each.iterdir()) for each in (folder, aside)] == [[], []]


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe", "folder"])
def test_what_somebody_left_in_its_place_is_not_written_through(tmp_path: Path, kind: str) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "run"
    precious.write_text("keep me")
    folder.mkdir()
    lock = folder / ".lock"
    make: dict[str, Callable[[], None]] = {
        "link": lambda: lock.symlink_to(precious),
        "dangling link": lambda: lock.symlink_to(tmp_path / "made"),
        "hard link": lambda: lock.hardlink_to(precious),
        "pipe": lambda: os.mkfifo(lock),
        "folder": lock.mkdir,
    }
    make[kind]()
    with pytest.raises(StoreError, match=r"cannot be written|is not a lock of etprof"), hold_run_folder(folder):
        pass
    assert precious.read_text() == "keep me"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"pid": 1}', "\0\xff", '{"pid": 1, "host": "\\u001b[2J", "started_at": 2}']
)
def test_a_holder_that_says_nothing_of_itself_is_another_process(tmp_path: Path, text: str) -> None:
    with held_by_another(tmp_path):
        (tmp_path / ".lock").write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match=r"is being written by another process\."):
            refuse_held(tmp_path)
