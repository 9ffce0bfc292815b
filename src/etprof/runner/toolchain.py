"""Finds what builds the native runner: a C++ compiler, CMake and Ninja."""

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from etprof.core.digest import file_sha256
from etprof.core.errors import DependencyError, UsageError
from etprof.core.macos import is_macos

_VERSION_TIMEOUT_S = 30.0
# What native/CMakeLists.txt asks for.
LOWEST_CMAKE = "3.28"
CMAKE_ADVICE = f'Run: pip install "cmake>={LOWEST_CMAKE}" ninja'


@dataclass(frozen=True)
class Compiler:
    """What turns C++ into programs: a compiler, or a CMake toolchain file that names one."""

    path: str
    version: str
    is_toolchain_file: bool = False

    @property
    def cmake_options(self) -> tuple[str, ...]:
        return (f"-DCMAKE_{'TOOLCHAIN_FILE' if self.is_toolchain_file else 'CXX_COMPILER'}={self.path}",)


def read_toolchain_file(path: Path) -> Compiler:
    if not path.is_file():
        raise UsageError(f"There is no CMake toolchain file {path}.")
    digest = file_sha256(path)[:8]
    return Compiler(str(path.resolve()), f"toolchain file {path.name} ({digest})", is_toolchain_file=True)


def compiler_path() -> str | None:
    """The C++ compiler: what $CXX names, else the system's; None where there is none."""
    wanted = os.environ.get("CXX")
    if wanted:
        return shutil.which(wanted)
    return next((path for path in map(shutil.which, ("c++", "g++", "clang++")) if path), None)


def compiler_advice() -> str:
    """How to get a C++ compiler on this system."""
    if is_macos():
        return "Run: xcode-select --install"
    return "Install g++ or clang (Debian: apt-get install g++), or profile with the Python runner."


def cmake_path() -> str | None:
    return _find_program("cmake")


def ninja_path() -> str | None:
    return _find_program("ninja")


def read_cmake_version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False)
    found = re.search(r"version (\d+(?:\.\d+)+)", done.stdout)
    if not found:
        raise DependencyError(f"The CMake in {path} does not say its version.", hint=CMAKE_ADVICE)
    return found[1]


def is_cmake_too_old(version: str) -> bool:
    return _as_numbers(version) < _as_numbers(LOWEST_CMAKE)


def require_cmake() -> str:
    path = require_program("CMake", cmake_path())
    version = read_cmake_version(path)
    if is_cmake_too_old(version):
        raise DependencyError(
            f"The native runner needs CMake {LOWEST_CMAKE} or newer; {path} is {version}.", hint=CMAKE_ADVICE
        )
    return path


def describe_compiler(path: str) -> Compiler:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise DependencyError(
            f"The C++ compiler {path} does not work: {done.stderr.strip() or 'no reason given'}",
            # There macOS has a compiler that only asks to be installed.
            hint=compiler_advice() if is_macos() else "",
        )
    return Compiler(path, done.stdout.splitlines()[0].strip() if done.stdout else "unknown")


def require_compiler(path: str | None = None) -> Compiler:
    found = path or compiler_path()
    if not found:
        named = os.environ.get("CXX")
        raise DependencyError(
            f"The C++ compiler {named!r} that CXX names was not found." if named else "There is no C++ compiler.",
            hint=compiler_advice(),
        )
    return describe_compiler(found)


def require_program(name: str, path: str | None) -> str:
    if not path:
        raise DependencyError(f"{name} is not installed.", hint=CMAKE_ADVICE)
    return path


def _find_program(name: str) -> str | None:
    """From its PyPI package beside this Python, which is often newer than the system's own; else from PATH."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def _as_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
