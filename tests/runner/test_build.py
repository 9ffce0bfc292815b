"""The build: with each compiler, against each kind of SDK, once and never by halves."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.core.errors import DependencyError, RunnerError
from etprof.runner import build
from etprof.runner.build import (
    NativeRunner,
    Target,
    build_runner,
    compile_sources,
    ensure_runner,
    find_runner,
    host_target,
)
from etprof.runner.isa import LAYOUTS
from etprof.runner.isa_header import render_isa_header
from etprof.runner.sdk import installed_sdk, read_sdk
from etprof.runner.toolchain import describe_compiler, require_compiler
from parts import need
from runner_block import run_block

# They build runners, in a cache of their own.
pytestmark = pytest.mark.usefixtures("own_cache")

STRICT = "-DCMAKE_CXX_FLAGS=-Werror"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["g++", "clang++"])
def test_each_compiler_builds_it_without_a_warning(name: str, models: Path, tmp_path: Path) -> None:
    found = shutil.which(name)
    need(found, f"there is no {name}")
    assert found
    target = replace(host_target(), cmake_options=(STRICT,))
    runner = build_runner(installed_sdk(), describe_compiler(found), target)
    assert run_block(runner.command, models / "fp32.pte", tmp_path).result["error"] == ""


def test_it_is_built_once(runner: NativeRunner) -> None:
    said: list[str] = []
    assert ensure_runner(said.append) == runner == find_runner()
    assert said == []


def test_other_sources_are_another_runner(
    runner: NativeRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = shutil.copytree(build.SOURCES, tmp_path / "native")
    monkeypatch.setattr(build, "SOURCES", sources)
    assert find_runner() == runner
    (sources / "main.cpp").write_text("int main() { return 0; }\n", encoding="utf-8")
    assert find_runner() is None


def test_another_wheel_is_another_runner(runner: NativeRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_runner() == runner
    monkeypatch.setattr(build, "installed_sdk", lambda: replace(installed_sdk(), version="1.5.2"))
    assert find_runner() is None


@pytest.mark.exhaustive
def test_a_wrong_layout_is_refused_by_the_program_itself(models: Path, tmp_path: Path) -> None:
    architecture = host_target().architecture
    right = LAYOUTS[architecture]
    names = list(right.offsets)
    wrong = replace(right, offsets=dict(zip(names[1:] + names[:1], right.offsets.values(), strict=True)))
    header = render_isa_header(architecture, wrong)
    group = "avx2" if architecture == "x86_64" else "dot"
    program = compile_sources(tmp_path, installed_sdk(), require_compiler(), host_target(), header)
    refused = run_block((str(program),), models / "fp32.pte", tmp_path / "refused", "--hide_isa", group)
    assert refused.exit_code == 3
    assert refused.result["error"].startswith(f"Refusing to hide {group}: the operating system says '")
    assert refused.result["latency_ns"] == []
    unproven = run_block((str(program),), models / "fp32.pte", tmp_path / "unproven")
    assert unproven.exit_code == 0
    assert unproven.result["features_seen"] == []
    assert unproven.result["isa_proof"].startswith("unproven: the operating system says '")


@pytest.mark.exhaustive
def test_a_table_of_another_size_is_refused_by_the_program_itself(models: Path, tmp_path: Path) -> None:
    need(sys.platform == "linux", "only Linux's loader tells the size of a table")
    right = LAYOUTS[host_target().architecture]
    header = render_isa_header(right.architecture, replace(right, size=right.size + 4))
    program = compile_sources(tmp_path, installed_sdk(), require_compiler(), host_target(), header)
    block = run_block((str(program),), models / "fp32.pte", tmp_path / "block")
    assert block.result["isa_proof"] == (
        f"unproven: cpuinfo's table has {right.size} bytes, not the expected {right.size + 4}"
    )


def test_a_failing_build_quotes_the_compiler_and_leaves_nothing(cache: Path) -> None:
    broken = Target(*_host_parts(), cmake_options=("-DCMAKE_CXX_FLAGS=-fno-such-flag",))
    before = sorted((cache / "runners").glob("*"))
    with pytest.raises(RunnerError, match="no-such-flag"):
        build_runner(installed_sdk(), require_compiler(), broken)
    assert sorted((cache / "runners").glob("*")) == before


@pytest.fixture
def small_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is built in a moment, where it does not matter what it does."""
    sources = tmp_path / "native"
    sources.mkdir()
    project = "cmake_minimum_required(VERSION 3.20)\nproject(small CXX)\nadd_executable(etprof_runner main.cpp)\n"
    (sources / "CMakeLists.txt").write_text(project, encoding="utf-8")
    (sources / "main.cpp").write_text("int main() { return 42; }\n", encoding="utf-8")
    monkeypatch.setattr(build, "SOURCES", sources)


@pytest.mark.usefixtures("small_sources")
def test_two_builds_at_once_end_with_one_runner(cache: Path) -> None:
    target = host_target()
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(build_runner, installed_sdk(), require_compiler(), target) for _ in range(2)]
        one, two = (f.result() for f in futures)
    assert one == two
    assert subprocess.run(one.command, timeout=30).returncode == 42
    assert list((cache / "runners").glob("building-*")) == []


@pytest.mark.usefixtures("small_sources")
def test_a_damaged_cache_is_built_again() -> None:
    parts = (installed_sdk(), require_compiler(), Target(*_host_parts(), cmake_options=("-DCMAKE_CXX_FLAGS=-DX",)))
    folder = build_runner(*parts).path.parent
    (folder / "etprof_runner").write_text("half a program", encoding="utf-8")
    (folder / "build.json").write_text("{", encoding="utf-8")
    built = build_runner(*parts)
    assert built.path.parent == folder
    assert subprocess.run(built.command, timeout=30).returncode == 42


@pytest.mark.exhaustive
def test_a_prefix_of_a_source_build_works_too(models: Path, tmp_path: Path) -> None:
    # Such a prefix has the wheel's headers and shared libraries, but a CMake package with other target names.
    wheel = installed_sdk()
    prefix = tmp_path / "prefix"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "include").symlink_to(wheel.prefix / "include")
    for library in wheel.libraries:
        shutil.copy(library, prefix / "lib")
    runner = build_runner(read_sdk(prefix), require_compiler(), host_target())
    assert runner.executorch_prefix == prefix
    block = run_block(runner.command, models / "fp32.pte", tmp_path / "block")
    assert (block.exit_code, block.result["executorch_version"]) == (0, "unknown")


def test_without_a_compiler_the_message_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_runner() is None
    with pytest.raises(DependencyError, match="There is no C\\+\\+ compiler") as caught:
        ensure_runner()
    assert "Python runner" in caught.value.hint


def test_an_architecture_without_a_table_has_no_native_runner() -> None:
    with pytest.raises(DependencyError, match="no native runner for riscv64: its cpuinfo layout is unknown"):
        build_runner(installed_sdk(), require_compiler(), Target("linux", "riscv64"))


def test_the_sources_travel_with_the_package() -> None:
    files = list(build.SOURCES.iterdir())
    ignored = subprocess.run(["git", "check-ignore", *files], capture_output=True, text=True, timeout=30).stdout
    assert ignored == ""
    assert {"CMakeLists.txt", "main.cpp", "hiding.cpp"} <= {path.name for path in files}


def _host_parts() -> tuple[str, str]:
    return host_target().system, host_target().architecture
