"""What was saved stays: at every point where a process may be killed, the folder can be read and resumed."""

import os
from pathlib import Path

import pytest

from etprof.core.errors import StoreError
from etprof.core.layout import MANIFEST, METRICS
from etprof.store.session_file import load_session
from scripted_device import a_runnable_plan, run_scripted


def test_every_point_between_two_files_leaves_a_session_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_runnable_plan(tmp_path, blocks=3)
    rename, counts = os.replace, list[int]()

    def look() -> None:
        if (plan.output_root / MANIFEST).exists() or (plan.output_root / METRICS).exists():
            counts.append(len(load_session(plan.output_root).results))

    def look_around(path: str, target: str, **folders: int) -> None:
        look()
        rename(path, target, **folders)
        look()

    monkeypatch.setattr(os, "replace", look_around)
    run_scripted(plan)
    assert counts == sorted(counts), "no block that was saved is gone again"
    assert counts[0] == 0
    assert counts[-1] == 6
    assert len(counts) > 25


def test_files_reach_the_disk_before_what_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    rename, sync, done = os.replace, os.fsync, list[str]()

    def note_sync(handle: int) -> None:
        done.append(f"sync {Path(f'/proc/self/fd/{handle}').readlink().name}")
        sync(handle)

    def note_rename(path: str, target: str, **folders: int) -> None:
        done.append(f"rename {target}")
        rename(path, target, **folders)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    run_scripted(plan)
    for at, what in enumerate(done):
        if what in (f"rename {MANIFEST}", f"rename {METRICS}"):
            assert done[at - 1].endswith(".part"), "the content first"
            assert done[at + 1] == f"sync {plan.output_root.name}", "then its name"
    first = next(at for at, what in enumerate(done) if what.startswith("sync off_t1"))
    assert {"sync off_t1.etdump", "sync off_t1.result.json", "sync off"} <= set(done[first : first + 6])
    assert done.index("sync off_t1.etdump") < max(at for at, what in enumerate(done) if what == f"rename {METRICS}")


def test_a_run_that_ended_between_its_first_two_files_is_resumed(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run_scripted(plan)
    session = load_session(plan.output_root)
    text = (plan.output_root / MANIFEST).read_text()
    (plan.output_root / MANIFEST).write_text(text.replace(session.stop_reason, ""))
    (plan.output_root / METRICS).unlink()
    assert load_session(plan.output_root).results == ()
    again = run_scripted(plan, resume=True).session
    assert [result.is_ok for result in again.results] == [True, True]


def test_a_finished_run_without_its_results_is_damaged(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run_scripted(plan)
    (plan.output_root / METRICS).unlink()
    with pytest.raises(StoreError, match="There is no file"):
        load_session(plan.output_root)


def test_a_link_in_the_place_of_a_block_is_not_written_through(tmp_path: Path) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = plan.output_root / "on"
    folder.mkdir(parents=True)
    for name in ("on_t1.log", "on_t1.etdump", "on_t1.result.json", "on_t1.result.json.part"):
        (folder / name).symlink_to(victim)
    (tmp_path / "elsewhere").mkdir()
    (folder / "on_t1.outputs").symlink_to(tmp_path / "elsewhere")
    session = run_scripted(plan).session
    assert all(result.is_ok for result in session.results)
    assert victim.read_text() == "mine"
    assert list((tmp_path / "elsewhere").iterdir()) == []
