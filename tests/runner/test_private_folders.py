"""What is executed from the cache: only what was put there, in folders that nobody else can write to."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from device_builder import keep_runner
from etprof.app.device_parts import RunnerParts
from etprof.cli.main import main
from etprof.core.errors import RunnerError
from etprof.runner import build
from etprof.runner.build import load_built, make_cache_folder
from etprof.runner.private_folders import check_private, close_to_others, tree_sha256
from etprof.runner.sdk import Sdk
from etprof.runner.toolchain import Compiler
from parts import need


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def give_away(path: Path) -> None:
    need(os.geteuid() == 0, "only root gives files to another user")
    os.chown(path, 12345, 12345)


def open_to_all(path: Path) -> None:
    path.chmod(path.stat().st_mode | 0o002)


def make_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize("place", [".", "runners", "runners/linux-x", "runners/linux-x/etprof_runner"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (open_to_all, "can be written by other users"),
        (give_away, "belongs to another user"),
        (make_link, "is a link"),
    ],
)
def test_a_runner_that_another_user_could_have_changed_is_refused(
    cache: Path, change: Callable[[Path], None], message: str, place: str
) -> None:
    folder = keep_runner(cache, "linux-x").path.parent
    close_to_others(cache)
    assert load_built(folder)
    change(cache / place)
    if change is make_link and place == ".":
        assert load_built(folder), "a cache may lie on another disk"
        return
    with pytest.raises(RunnerError, match=message):
        load_built(folder)


def test_a_runner_that_is_not_the_one_that_was_put_there_is_not_used(cache: Path) -> None:
    runner = keep_runner(cache, "linux-x")
    close_to_others(cache)
    assert load_built(runner.path.parent) == runner
    runner.path.write_text("another program")
    assert load_built(runner.path.parent) is None


def test_the_cache_is_made_for_its_owner_alone(cache: Path) -> None:
    before = os.umask(0o002)
    try:
        make_cache_folder(cache / "runners")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (cache, cache / "runners")} == {0o700}
    open_to_all(cache)
    with pytest.raises(RunnerError, match="can be written by other users"):
        make_cache_folder(cache / "runners")


def test_an_emulator_that_another_user_could_have_changed_is_refused(cache: Path) -> None:
    assert RunnerParts().emulator_folder == cache / "emulator"
    (cache / "emulator").mkdir(parents=True)
    (cache / "emulator" / "qemu-aarch64").touch()
    close_to_others(cache)
    assert RunnerParts().emulator_folder == cache / "emulator"
    open_to_all(cache / "emulator" / "qemu-aarch64")
    with pytest.raises(RunnerError, match="can be written by other users"):
        _ = RunnerParts().emulator_folder


def test_other_libraries_are_another_runner(cache: Path, tmp_path: Path) -> None:
    """Of the same version, in the same place, of the same size and age."""
    library = tmp_path / "libexecutorch.so"
    library.write_bytes(b"one")
    os.utime(library, (1, 1))
    sdk, compiler = Sdk(tmp_path, "1.5.1", (library,)), Compiler("c++", "some compiler")
    before = build._folder(sdk, compiler, build.host_target())
    assert before == build._folder(replace(sdk), compiler, build.host_target())
    library.write_bytes(b"two")
    os.utime(library, (1, 1))
    assert before != build._folder(sdk, compiler, build.host_target())


def test_the_digest_of_a_folder_is_that_of_names_rights_and_contents(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a").write_text("a")
    seen = {tree_sha256(tmp_path)}
    (tmp_path / "lib" / "a").chmod(0o755)
    seen.add(tree_sha256(tmp_path))
    (tmp_path / "lib" / "a").write_text("b")
    seen.add(tree_sha256(tmp_path))
    (tmp_path / "lib" / "a").rename(tmp_path / "lib" / "b")
    seen.add(tree_sha256(tmp_path))
    assert len(seen) == 4


def test_doctor_says_what_is_wrong_with_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = keep_runner(cache, "linux-x")
    open_to_all(cache)
    monkeypatch.setattr(build, "_folder", lambda *_: runner.path.parent)
    assert main(["doctor"]) in (0, 1)
    assert "can be written by other users" in capsys.readouterr().out
    with pytest.raises(RunnerError):
        check_private(cache, cache)
