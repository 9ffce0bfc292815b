"""What `etprof runner info` shows: the parts of a build, and the runners in the cache."""

from pathlib import Path

import pytest

from device_builder import keep_runner
from etprof.runner.build import NativeRunner, find_runner
from etprof.runner.inventory import list_built, read_inventory


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ETPROF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_an_empty_cache_says_how_to_build(empty_cache: Path) -> None:
    rows = dict(read_inventory())
    assert list(rows) == ["runner", "executorch", "compiler", "cross", "cmake", "ninja", "cache"]
    assert rows["runner"] == "not built: `etprof runner build` builds it, and so does the first run"
    assert rows["cache"] == str(empty_cache)


def test_without_a_compiler_the_python_runner_is_named(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    rows = dict(read_inventory())
    assert rows["compiler"] == "none"
    assert rows["runner"] == "not built: there is no C++ compiler, so the Python runner is used"


def test_every_whole_runner_of_the_cache_is_listed(empty_cache: Path) -> None:
    one, other = keep_runner(empty_cache, "linux-arm64"), keep_runner(empty_cache, "linux-x86_64-old")
    damaged = keep_runner(empty_cache, "linux-damaged")
    (damaged.path.parent / "build.json").write_text("{")
    assert list_built() == [one, other]
    assert read_inventory()[-2:] == [("also built", f"{r.description}: {r.path}") for r in (one, other)]


@pytest.mark.usefixtures("own_cache")
def test_the_current_runner_is_shown_as_such_and_only_once(runner: NativeRunner) -> None:
    rows = read_inventory()
    assert rows[0] == ("runner", f"current: {runner.path}")
    assert find_runner() == runner
    assert all(str(runner.path) not in value for name, value in rows if name == "also built")
