"""Which packages an export needs, checked against the versions this package itself was declared with."""

import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata

from etprof.core.errors import DependencyError

RUNTIME = ("torch", "executorch", "torchao")


@cache
def pinned_versions() -> dict[str, str]:
    """Name to version of everything the extras of the installed distribution pin, so that one file holds the pins."""
    try:
        declared = metadata.requires("etprof") or []
    except metadata.PackageNotFoundError as error:
        raise DependencyError("etprof is not installed as a package.", hint="Run: pip install -e .") from error
    pins = (re.match(r"([A-Za-z0-9_.-]+)==([^;\s]+)\s*;.*extra ==", line) for line in declared)
    return {pin[1].lower(): pin[2] for pin in pins if pin}


def installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def runtime_versions() -> dict[str, str]:
    """The versions in use of what turns a model into a .pte; a missing or different one stops here."""
    require_pinned(RUNTIME, "Exporting")
    return {name: version for name in RUNTIME if (version := installed_version(name))}


def require_pinned(names: Iterable[str], purpose: str) -> None:
    """Stops where one of these packages is missing or of another version than the pinned one."""
    found = {name: installed_version(name) for name in names}
    wrong = [name for name in found if _is_wrong(found[name], pinned_versions().get(name))]
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
    """The pip command that brings these packages; the pinned ones go with the pinned torch and leave it alone."""
    return f"pip install {' '.join(_pin(name) for name in names)}"


def _pin(name: str) -> str:
    version = pinned_versions().get(name)
    return f"{name}=={version}" if version else name


def _is_wrong(found: str | None, pinned: str | None) -> bool:
    return found is None or (pinned is not None and found.split("+")[0] != pinned)


def _describe(name: str, found: str | None) -> str:
    return f"{_pin(name)} ({'found ' + found if found else 'not installed'})"
