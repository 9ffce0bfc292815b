"""Paths as users give them."""

import os
from pathlib import Path

import pytest

from etprof.core.errors import StoreError, UsageError
from etprof.store.json_file import read_json, write_json, write_text
from etprof.store.paths import check_inside, check_path, make_folder, require_file
from mounts import mounted
from parts import need


@pytest.mark.parametrize(
    ("text", "reason"),
    [("x" * 300, "File name too long"), ("y/" * 3000, "File name too long"), ("a\0b", "embedded null byte")],
    ids=["name", "path", "nul"],
)
def test_a_path_that_no_file_can_have_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        check_path(Path(text))
    assert len(caught.value.message) < 200
    with pytest.raises(StoreError, match=reason):
        make_folder(Path(text))
    with pytest.raises(StoreError, match=reason):
        write_text(Path(text), "x")


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match="cannot be used: Too many levels of symbolic links"):
        check_path(tmp_path / "loop")


def test_what_is_not_there_yet_can_be_used(tmp_path: Path) -> None:
    assert check_path(tmp_path / "new" / "file") == tmp_path / "new" / "file"


def test_a_file_that_was_named_must_be_there_and_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    with pytest.raises(UsageError, match=r"There is no plan .*plan\.json") as caught:
        require_file(path, "plan", hint="Write one.")
    assert (caught.value.hint, caught.value.exit_code) == ("Write one.", 2)
    with pytest.raises(UsageError, match="is a folder, not a plan"):
        require_file(tmp_path, "plan", hint="")
    # Reading it would never end.
    need(Path("/dev/zero").exists(), "there is no /dev/zero")
    with pytest.raises(UsageError, match="is a device, not a plan"):
        require_file(Path("/dev/zero"), "plan", hint="")
    path.touch()
    assert require_file(path, "plan", hint="") == path


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "a" / "b"):
        with pytest.raises(StoreError, match=r"cannot be written: .*/file is a file\."):
            make_folder(folder)


def test_a_read_only_disk_is_said(tmp_path: Path) -> None:
    with mounted(tmp_path, "ro"):
        with pytest.raises(StoreError, match=r"new cannot be written: Read-only file system\."):
            make_folder(tmp_path / "new")
        with pytest.raises(StoreError, match=r"file\.md cannot be written: Read-only file system\."):
            write_text(tmp_path / "file.md", "x")


def test_a_device_is_written_to_and_a_link_to_one_is_replaced(tmp_path: Path) -> None:
    before = os.lstat("/dev/null")
    write_text(Path("/dev/null"), "x")
    assert os.lstat("/dev/null").st_ino == before.st_ino
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    write_text(link, "x")
    assert not link.is_symlink()
    assert [path.name for path in tmp_path.iterdir()] == ["null"]


def test_a_link_is_replaced_and_what_it_leads_to_is_untouched(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "run"
    victim.write_text("mine")
    folder.mkdir()
    (folder / "report.md").symlink_to(victim)
    (folder / ".report.md.part").symlink_to(victim)
    write_text(folder / "report.md", "new")
    assert victim.read_text() == "mine"
    assert (folder / "report.md").read_text() == "new"


def test_a_pipe_in_a_folder_is_replaced_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.md")
    write_text(tmp_path / "report.md", "new")
    assert (tmp_path / "report.md").read_text() == "new"
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(StoreError, match="a device or a pipe, not a file"):
        read_json(tmp_path / "manifest.json")
    (tmp_path / "endless.json").symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="a device or a pipe, not a file"):
        read_json(tmp_path / "endless.json")


def test_a_folder_that_is_a_link_out_of_the_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run = tmp_path / "run"
    (run / "own").mkdir(parents=True)
    (run / "on").symlink_to(tmp_path / "elsewhere")
    (run / "off").symlink_to("own")
    with pytest.raises(StoreError, match="a link leads out of it"):
        check_inside(run / "on" / "on_t1.log", run)
    with pytest.raises(StoreError, match="a link leads out of it"):
        check_inside(run / ".." / "x", run)
    check_inside(run / "off" / "off_t1.log", run)
    check_inside(run / "new" / "new_t1.log", run)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StoreError, match="more than 268435456 bytes"):
        read_json(tmp_path / "large.json")


def test_a_name_that_is_not_text_is_stored_and_read_back(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"path": "mod\udce8le"})
    assert read_json(tmp_path / "a.json") == {"path": "mod\udce8le"}


def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match="nested too deeply"):
        read_json(tmp_path / "deep.json")
