"""The parts of a Mac that exist elsewhere: ExecuTorch's wheel for it, and a compiler that can build for it."""

import importlib.util
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from etprof.runner.build import Target, cache_dir
from etprof.runner.sdk import Sdk, installed_sdk, read_sdk
from etprof.runner.toolchain import Compiler, read_toolchain_file
from parts import need

TARGET = Target("macos", "arm64")
_PLATFORM = "macosx_14_0_arm64"
_ZIG_TARGET = "aarch64-macos.14.0"
_WANTED = ("executorch/include/", "executorch/lib/", "executorch/share/cmake/")


@cache
def macos_sdk() -> Sdk:
    """Of the installed version; downloaded once and kept."""
    version = installed_sdk().version
    folder = cache_dir() / "parts" / f"executorch-{version}-{_PLATFORM}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as scratch:
            wheel = _download(version, Path(scratch))
            need(wheel, "the macOS wheel of executorch cannot be downloaded")
            with zipfile.ZipFile(str(wheel)) as archive:
                names = [name for name in archive.namelist() if name.startswith(_WANTED)]
                archive.extractall(Path(scratch) / "unpacked", names)
            (Path(scratch) / "unpacked").rename(folder)
    return read_sdk(folder / "executorch")


def macos_compiler(folder: Path) -> Compiler:
    """zig's C++ compiler as CMake takes it; it brings the headers of macOS, and a linker."""
    need(importlib.util.find_spec("ziglang"), "ziglang is not installed")
    for name in ("c++", "ar", "ranlib"):
        target = f" -target {_ZIG_TARGET}" if name == "c++" else ""
        program = folder / f"zig-{name}"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {name}{target} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
    file = folder / "macos.cmake"
    file.write_text(
        "set(CMAKE_SYSTEM_NAME Darwin)\nset(CMAKE_SYSTEM_PROCESSOR arm64)\n"
        f"set(CMAKE_CXX_COMPILER {folder}/zig-c++)\nset(CMAKE_AR {folder}/zig-ar)\n"
        f"set(CMAKE_RANLIB {folder}/zig-ranlib)\nset(CMAKE_INSTALL_NAME_TOOL /bin/true)\n"
        'set(CMAKE_OSX_SYSROOT "")\n',
        encoding="utf-8",
    )
    return read_toolchain_file(file)


def _download(version: str, folder: Path) -> Path | None:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
        "--only-binary=:all:", "--platform", _PLATFORM, "--dest", str(folder), f"executorch=={version}",
    ]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=900, check=False)
    return next(folder.glob("executorch-*.whl"), None)
