"""The ExecuTorch a runner is built against: the C++ SDK inside the installed wheel, or another install prefix."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from etprof.core.errors import DependencyError

RUNTIME_LIBRARIES = (
    "libexecutorch",
    "libexecutorch_threadpool",
    "libexecutorch_etdump",
    "libexecutorch_kernels_optimized",
    "libexecutorch_kernels_quantized",
    "libexecutorch_backend_xnnpack",
)
_VERSION_FILES = "lib/cmake/*/executorch-config-version.cmake"
_VERSION = re.compile(r'set\((?:EXECUTORCH_BUILD_VERSION|PACKAGE_VERSION) "(\d[^"+]*)')


@dataclass(frozen=True)
class Sdk:
    prefix: Path
    version: str
    libraries: tuple[Path, ...]


def installed_sdk() -> Sdk:
    spec = importlib.util.find_spec("executorch")
    folders = [Path(f) for f in (spec.submodule_search_locations or ())] if spec else []
    folder = next((f for f in folders if (f / "lib").is_dir()), None)
    if folder is None:
        raise DependencyError(
            "executorch is not installed, or its wheel has no C++ SDK.",
            hint="`etprof doctor` names the tested version.",
        )
    return read_sdk(folder)


def read_sdk(prefix: Path) -> Sdk:
    """The prefix as an SDK, once it is checked that a runner can be built against it."""
    if not (prefix / "include" / "executorch").is_dir():
        raise DependencyError(
            f"{prefix} is not an ExecuTorch install prefix: it has no include/executorch.",
            hint="The wheel's own folder is one, and so is what `cmake --install` writes for a source build.",
        )
    libraries = tuple(_find_library(prefix, name) for name in RUNTIME_LIBRARIES)
    return Sdk(prefix.resolve(), _read_version(prefix), libraries)


def _find_library(prefix: Path, name: str) -> Path:
    for suffix in (".so", ".dylib"):
        path = prefix / "lib" / f"{name}{suffix}"
        if path.exists():
            return path.resolve()
    raise DependencyError(
        f"{prefix} has no shared library lib/{name}.",
        hint="Configure ExecuTorch with EXECUTORCH_BUILD_SHARED, XNNPACK, both kernel libraries and devtools. "
        "Features can be hidden only where the backend is a library of its own.",
    )


def _read_version(prefix: Path) -> str:
    for path in sorted(prefix.glob(_VERSION_FILES)):
        found = _VERSION.search(path.read_text(encoding="utf-8"))
        if found:
            return found.group(1)
    return "unknown"
