"""Finding a compiler, CMake and Ninja."""

import subprocess
from pathlib import Path

import pytest

from etprof.core.errors import DependencyError, UsageError
from etprof.runner.build import SOURCES
from etprof.runner.toolchain import (
    LOWEST_CMAKE,
    cmake_path,
    compiler_path,
    describe_compiler,
    ninja_path,
    read_toolchain_file,
    require_cmake,
    require_compiler,
    require_program,
)


def test_cxx_names_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "my-compiler"
    compiler.write_text("#!/bin/sh\necho 'my compiler 3.1'\n", encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert compiler_path() == str(compiler)
    assert require_compiler().version == "my compiler 3.1"


def test_a_cxx_that_is_not_there_is_not_replaced_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert compiler_path() is None
    with pytest.raises(DependencyError, match="'no-such-compiler' that CXX names was not found"):
        require_compiler()


def test_a_compiler_that_does_not_work_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'no licence' >&2\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    with pytest.raises(DependencyError, match="broken does not work: no licence"):
        describe_compiler(str(broken))


def test_cmake_and_ninja_come_from_beside_this_python() -> None:
    for path in (cmake_path(), ninja_path()):
        assert path is not None
        assert subprocess.run([path, "--version"], capture_output=True, timeout=30).returncode == 0


def test_a_missing_program_names_the_cure() -> None:
    with pytest.raises(DependencyError) as caught:
        require_program("Ninja", None)
    assert caught.value.hint == 'Run: pip install "cmake>=3.28" ninja'


def write_cmake(folder: Path, output: str) -> Path:
    program = folder / "cmake"
    program.write_text(f"#!/bin/sh\necho '{output}'\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def test_the_lowest_cmake_is_the_one_the_sources_ask_for() -> None:
    assert f"cmake_minimum_required(VERSION {LOWEST_CMAKE})" in (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("output", "reason"), [("cmake version 3.25.1", "is 3.25.1"), ("?", "does not say its version")]
)
def test_a_cmake_that_cannot_build_the_runner_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, reason: str
) -> None:
    program = write_cmake(tmp_path, output)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert cmake_path() == str(program)
    with pytest.raises(DependencyError, match=reason) as caught:
        require_cmake()
    assert caught.value.hint == 'Run: pip install "cmake>=3.28" ninja'


@pytest.mark.parametrize("version", ["3.28", "3.28.0", "3.31.6", "4.4.4-rc1"])
def test_a_cmake_from_3_28_on_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    program = write_cmake(tmp_path, f"cmake version {version}")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert require_cmake() == str(program)


def test_a_toolchain_file_is_told_apart_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "ndk.cmake"
    path.write_text("set(CMAKE_CXX_COMPILER one)", encoding="utf-8")
    one = read_toolchain_file(path)
    path.write_text("set(CMAKE_CXX_COMPILER two)", encoding="utf-8")
    two = read_toolchain_file(path)
    assert one.cmake_options == two.cmake_options == (f"-DCMAKE_TOOLCHAIN_FILE={path}",)
    assert one.version != two.version


def test_a_missing_toolchain_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.cmake"):
        read_toolchain_file(tmp_path / "nowhere.cmake")


def test_on_a_mac_the_hint_is_the_command_that_installs_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match="no C\\+\\+ compiler") as caught:
        require_compiler()
    assert caught.value.hint == "Run: xcode-select --install"
    # What macOS has in its place, until then.
    shim = tmp_path / "c++"
    shim.write_text(
        "#!/bin/sh\necho 'xcode-select: note: no developer tools were found' >&2\nexit 1\n", encoding="utf-8"
    )
    shim.chmod(0o755)
    with pytest.raises(DependencyError, match="no developer tools were found") as caught:
        require_compiler()
    assert caught.value.hint == "Run: xcode-select --install"
