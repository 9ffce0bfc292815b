"""Builds the native runner from its sources and keeps it, so that it is built once for each wheel and compiler."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import etprof
from etprof.core.digest import content_sha256, file_sha256, files_sha256
from etprof.core.errors import DependencyError, RunnerError
from etprof.runner.cpu_features import host_architecture
from etprof.runner.isa import LAYOUTS
from etprof.runner.isa_header import render_isa_header
from etprof.runner.private_folders import check_private, close_to_others, make_private_folder
from etprof.runner.sdk import Sdk, installed_sdk
from etprof.runner.thermal_header import render_thermal_header
from etprof.runner.toolchain import (
    Compiler,
    ninja_path,
    require_cmake,
    require_compiler,
    require_program,
)

SOURCES = Path(__file__).parent / "native"
BINARY = "etprof_runner"
_FACTS = "build.json"
# A small board, or an emulated one, takes minutes.
_STEP_TIMEOUT_S = 900.0
_LOG_LINES_SHOWN = 15

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Target:
    """The kind of machine a runner is for, with the CMake options to build for it."""

    system: str
    architecture: str
    cmake_options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.system}-{self.architecture}"


@dataclass(frozen=True)
class NativeRunner:
    """A runner that is built: how to start it, and what it was built from. `sha256` is that of the program."""

    path: Path
    target: str
    executorch_version: str
    executorch_prefix: Path
    compiler: str
    runner_version: str
    sha256: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        return (str(self.path),)

    @property
    def description(self) -> str:
        return (
            f"native runner {self.runner_version} for {self.target}, executorch {self.executorch_version}, "
            f"{self.compiler}"
        )


def host_target() -> Target:
    return Target("macos" if sys.platform == "darwin" else "linux", host_architecture())


def cache_dir() -> Path:
    """Where built runners are kept: $ETPROF_CACHE, or the system's place for caches."""
    named = os.environ.get("ETPROF_CACHE")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/etprof"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "etprof"


def make_cache_folder(folder: Path) -> None:
    """Makes a folder of the cache; what is there already must be safe from other users, since it is executed."""
    try:
        make_private_folder(folder)
    except OSError as error:
        raise RunnerError(
            f"The cache folder {folder} cannot be created: {error.strerror}.",
            hint="Set ETPROF_CACHE to a folder you can write to.",
        ) from error
    check_private(cache_dir(), folder)


def find_runner() -> NativeRunner | None:
    """This machine's runner if it is built and current; never builds."""
    if host_target().architecture not in LAYOUTS:
        return None
    try:
        return load_built(_folder(installed_sdk(), require_compiler(), host_target()))
    except DependencyError:
        return None


def ensure_runner(progress: Progress = lambda _: None) -> NativeRunner:
    """This machine's runner, built now if necessary."""
    return build_runner(installed_sdk(), require_compiler(), host_target(), progress=progress)


def build_runner(
    sdk: Sdk, compiler: Compiler, target: Target, *, force: bool = False, progress: Progress = lambda _: None
) -> NativeRunner:
    if target.architecture not in LAYOUTS:
        raise DependencyError(
            f"There is no native runner for {target.architecture}: its cpuinfo layout is unknown.",
            hint="The Python runner works there, but cannot hide features.",
        )
    folder = _folder(sdk, compiler, target)
    built = None if force else load_built(folder)
    if built:
        return built
    progress(f"building the native runner for {target.name} against executorch {sdk.version}")
    make_cache_folder(folder.parent)
    # Beside its final place, so that the last step is a rename: nobody ever sees an incomplete runner.
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
        binary = compile_sources(Path(scratch), sdk, compiler, target, render_isa_header(target.architecture))
        ready = Path(scratch) / "ready"
        ready.mkdir()
        shutil.move(binary, ready / BINARY)
        facts = NativeRunner(
            folder / BINARY, target.name, sdk.version, sdk.prefix, compiler.version, etprof.__version__,
            file_sha256(ready / BINARY),
        )  # fmt: skip
        (ready / _FACTS).write_text(json.dumps(asdict(facts), default=str, indent=2) + "\n", encoding="utf-8")
        close_to_others(ready)
        _put_in_place(ready, folder, force=force)
    return facts


def load_built(folder: Path) -> NativeRunner | None:
    """The runner that was put into this folder of the cache, or None where there is none, or another program."""
    if not (folder / BINARY).is_file() or not (folder / _FACTS).is_file():
        return None
    check_private(cache_dir(), folder / BINARY, folder / _FACTS)
    try:
        facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
        kept = facts | {"path": folder / BINARY, "executorch_prefix": Path(facts["executorch_prefix"])}
        runner = NativeRunner(**kept)
    except (ValueError, TypeError, KeyError):
        # Damaged, or written by another version: treated as missing, since it is built again in seconds.
        return None
    return runner if runner.sha256 == file_sha256(runner.path) else None


def compile_sources(scratch: Path, sdk: Sdk, compiler: Compiler, target: Target, isa_header: str) -> Path:
    """Runs CMake and Ninja in `scratch` and returns the program they made."""
    cmake = require_cmake()
    ninja = require_program("Ninja", ninja_path())
    (scratch / "generated").mkdir()
    (scratch / "generated" / "isa_table.h").write_text(isa_header, encoding="utf-8")
    (scratch / "generated" / "thermal_table.h").write_text(render_thermal_header(), encoding="utf-8")
    build = scratch / "build"
    configure = [
        cmake, "-S", str(SOURCES), "-B", str(build), "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}",
        "-DCMAKE_BUILD_TYPE=Release", f"-DETPROF_SDK={sdk.prefix}", f"-DETPROF_SDK_VERSION={sdk.version}",
        f"-DETPROF_GENERATED_DIR={scratch / 'generated'}", f"-DETPROF_VERSION={etprof.__version__}",
        *compiler.cmake_options, *target.cmake_options,
    ]  # fmt: skip
    log = _run_step(configure, "configured") + _run_step([cmake, "--build", str(build)], "compiled")
    binary = build / BINARY
    if not binary.is_file():
        raise RunnerError(f"The build succeeded but produced no {BINARY}.\n{log}")
    return binary


def _folder(sdk: Sdk, compiler: Compiler, target: Target) -> Path:
    made_of = [
        content_sha256(SOURCES), render_isa_header(target.architecture), render_thermal_header(), etprof.__version__,
        sdk.version, str(sdk.prefix), compiler.path, compiler.version, target.name, *target.cmake_options,
        # All of each, each time: that takes 12 ms for 15 MB, and a time of change or a size can be made up.
        files_sha256(sdk.libraries),
    ]  # fmt: skip
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]
    return cache_dir() / "runners" / f"{target.name}-{key}"


def _run_step(command: list[str], verb: str) -> str:
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=_STEP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RunnerError(f"The native runner could not be {verb}: timed out after {_STEP_TIMEOUT_S:.0f} s.") from error
    if done.returncode != 0:
        raise RunnerError(
            f"The native runner could not be {verb}:\n{_first_error(done.stdout)}",
            hint="`etprof runner info` shows compiler and SDK. The Python runner needs no compiler.",
        )
    return done.stdout


def _first_error(log: str) -> str:
    lines = log.splitlines()
    start = next((i for i, line in enumerate(lines) if "error" in line.lower()), max(0, len(lines) - _LOG_LINES_SHOWN))
    return "\n".join(lines[start : start + _LOG_LINES_SHOWN])


def _put_in_place(ready: Path, folder: Path, *, force: bool) -> None:
    """Gives the folder its final name; where another process was faster, its result is kept."""
    if folder.exists() and (force or load_built(folder) is None):
        folder.rename(ready.parent / "replaced")
    rename_unless_there(ready, folder)


def rename_unless_there(ready: Path, folder: Path) -> None:
    try:
        ready.rename(folder)
    except OSError:
        if not folder.exists():
            raise
