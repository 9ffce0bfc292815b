"""What runners can be built with on this machine, and which runners are built."""

import shutil

from etprof.core.errors import DependencyError
from etprof.runner.build import NativeRunner, cache_dir, find_runner, load_built
from etprof.runner.cross import CROSS_COMPILER
from etprof.runner.sdk import installed_sdk
from etprof.runner.toolchain import cmake_path, compiler_path, describe_compiler, ninja_path


def read_inventory() -> list[tuple[str, str]]:
    """Name and value of each fact, in the order they are shown."""
    runner = find_runner()
    rows = [
        ("runner", f"current: {runner.path}" if runner else f"not built: {_why_not_built()}"),
        ("executorch", _describe_sdk()),
        ("compiler", _describe_compiler(compiler_path())),
        ("cross", _describe_compiler(shutil.which(CROSS_COMPILER))),
        ("cmake", cmake_path() or "none"),
        ("ninja", ninja_path() or "none"),
        ("cache", str(cache_dir())),
    ]
    return rows + [("also built", f"{r.description}: {r.path}") for r in list_built() if r != runner]


def list_built() -> list[NativeRunner]:
    """Every runner in the cache, current or not."""
    folders = sorted((cache_dir() / "runners").glob("*-*"))
    return [runner for runner in map(load_built, folders) if runner]


def _why_not_built() -> str:
    if not compiler_path():
        return "there is no C++ compiler, so the Python runner is used"
    return "`etprof runner build` builds it, and so does the first run"


def _describe_sdk() -> str:
    try:
        sdk = installed_sdk()
    except DependencyError as error:
        return f"none: {error.message}"
    return f"{sdk.version} in {sdk.prefix}"


def _describe_compiler(path: str | None) -> str:
    return f"{describe_compiler(path).version} in {path}" if path else "none"
