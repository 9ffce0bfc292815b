"""Which packages an export needs, checked against the ranges this package itself declares."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from etprof.core.errors import DependencyError

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

RUNTIME = ("torch", "executorch", "torchao")
# The versions of constraints.txt, recommended for what is built against one torch: any other torchvision, for example,
# would replace torch, on Linux by a build with gigabytes of CUDA libraries.
TESTED = {
    "torch": "2.13.0",
    "executorch": "1.5.1",
    "torchao": "0.18.0",
    "torchvision": "0.28.0",
    "timm": "1.0.30",
    "transformers": "5.22.2",
    "onnxruntime": "1.31.1",
    "onnx": "1.23.2",
    "onnxscript": "0.7.2",
}
# What a package brings in its newest version, unless pip is told which one: the newest torchvision replaces torch.
_BRINGS = {"timm": "torchvision"}


@cache
def supported_versions() -> "dict[str, SpecifierSet]":
    """Name to range of everything the installed distribution declares, so that one file holds the ranges."""
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    try:
        declared = metadata.requires("etprof") or []
    except metadata.PackageNotFoundError as error:
        raise DependencyError("etprof is not installed as a package.", hint="Run: pip install -e .") from error
    ranges: dict[str, SpecifierSet] = {}
    for requirement in map(Requirement, declared):
        name = requirement.name.lower()
        ranges[name] = ranges.get(name, SpecifierSet()) & requirement.specifier
    return ranges


def installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def executorch_commit() -> str:
    """The commit the installed wheel was built from, as its version.py says; empty where it says none."""
    try:
        path = Path(str(metadata.distribution("executorch").locate_file("executorch/version.py")))
        found = re.search(r"^git_version\b.*?['\"]([0-9a-f]{7,40})['\"]", path.read_text(encoding="utf-8"), re.M)
    except (metadata.PackageNotFoundError, OSError):
        return ""
    return found[1] if found else ""


def is_supported(name: str, version: str) -> bool:
    """Whether the version is in the declared range; a package without one is supported in every version."""
    supported = supported_versions().get(name)
    return supported is None or supported.contains(version, prereleases=True)


def runtime_versions() -> dict[str, str]:
    """The installed versions of what turns a model into a .pte; a missing or unsupported one is an error."""
    require_supported(RUNTIME, "Exporting")
    return {name: version for name in RUNTIME if (version := installed_version(name))}


def require_supported(names: Iterable[str], purpose: str) -> None:
    """Stops where one of these packages is missing or of a version outside the declared range."""
    found = {name: installed_version(name) for name in names}
    wrong = [name for name, version in found.items() if version is None or not is_supported(name, version)]
    if wrong:
        raise DependencyError(
            f"{purpose} needs " + ", ".join(_describe(name, found[name]) for name in wrong) + ".",
            hint=f"Run: {install_command(wrong)}",
        )


def missing_packages(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if installed_version(name) is None)


def require_packages(model: str, names: Iterable[str]) -> None:
    if missing := missing_packages(names):
        raise DependencyError(
            f"The model {model!r} needs {' and '.join(missing)}, which is not installed.",
            hint=f"Run: {install_command(missing)}",
        )


def install_command(names: Iterable[str]) -> str:
    """The shell command that installs these packages: torch first and alone, so that nothing else chooses its build."""
    named = list(names)
    wanted = [*named, *missing_packages(_BRINGS[name] for name in named if _BRINGS.get(name, name) not in named)]
    groups = [name for name in wanted if name == "torch"], [name for name in wanted if name != "torch"]
    return " && ".join(f"pip install {' '.join(map(_specify, group))}" for group in groups if group)


def _specify(name: str) -> str:
    """The package as an argument of pip: in the tested version, else in the declared range, else by its name."""
    if name in TESTED:
        return f"{name}=={TESTED[name]}"
    supported = str(supported_versions().get(name, ""))
    return f'"{name}{supported}"' if supported else name


def _describe(name: str, found: str | None) -> str:
    return f"{name}{supported_versions().get(name, '')} ({'found ' + found if found else 'not installed'})"
