"""The packages an export needs are checked against the ranges of this distribution, and named as commands."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from etprof.core.errors import DependencyError
from etprof.export import dependencies

ROOT = Path(__file__).parents[2]


def pretend(monkeypatch: pytest.MonkeyPatch, versions: Mapping[str, str]) -> None:
    """These versions are installed, and nothing else."""
    monkeypatch.setattr(dependencies, "installed_version", versions.get)


def read_constraints(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_ranges_are_those_of_the_distribution() -> None:
    ranges = dependencies.supported_versions()
    assert set(dependencies.RUNTIME) <= set(ranges)
    assert str(ranges["torch"]) == ">=2.13"


def test_the_recommended_versions_are_those_the_tests_run_with() -> None:
    constraints = read_constraints("constraints.txt")
    assert {name: constraints[name] for name in dependencies.TESTED} == dict(dependencies.TESTED)


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-lowest.txt"])
def test_the_constraints_are_inside_the_ranges(name: str) -> None:
    constraints = read_constraints(name)
    assert constraints
    outside = {each: version for each, version in constraints.items() if not dependencies.is_supported(each, version)}
    assert outside == {}


def test_every_declared_package_has_a_tested_version() -> None:
    # dask comes with distributed, in the same version, and holds importlib-metadata back.
    held = {"dask", "importlib-metadata"}
    assert {*dependencies.supported_versions(), *held} == set(read_constraints("constraints.txt"))


def test_the_lowest_constraints_are_the_lower_ends_of_the_ranges() -> None:
    lowest = read_constraints("constraints-lowest.txt")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert declared
    for requirement in map(Requirement, declared):
        (lower,) = (each.version for each in requirement.specifier if each.operator == ">=")
        assert Version(lowest[requirement.name]) == Version(lower)


@pytest.mark.parametrize("version", ["2.13.0", "2.13.0+cpu", "2.14.0.dev20261101+cpu", "3.0"])
def test_newer_and_local_builds_are_supported(version: str) -> None:
    assert dependencies.is_supported("torch", version)


@pytest.mark.parametrize("version", ["1.5.1", "1.6.0", "1.12.0a0", "2.0.1"])
def test_any_executorch_from_1_5_on_is_tried(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    pretend(monkeypatch, {"executorch": version})
    dependencies.require_supported(("executorch",), "Running a model here")


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(DependencyError, match="'net' needs no-such-package") as caught:
        dependencies.require_packages("net", ["pytest", "no-such-package"])
    assert caught.value.hint == "Run: pip install no-such-package"


def test_a_version_that_is_too_old_is_named_with_the_range_and_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {**dependencies.TESTED, "torch": "1.0+cpu"})
    with pytest.raises(DependencyError) as caught:
        dependencies.runtime_versions()
    assert caught.value.message == "Exporting needs torch>=2.13 (found 1.0+cpu)."
    assert caught.value.hint == f"Run: pip install torch=={dependencies.TESTED['torch']}"


def test_nothing_installed_names_all_three(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {})
    with pytest.raises(DependencyError, match=r"torch>=.*not installed.*executorch>=.*torchao>="):
        dependencies.runtime_versions()


def test_the_installed_versions_are_reported_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {name: f"{version}+cpu" for name, version in dependencies.TESTED.items()})
    assert dependencies.runtime_versions()["torch"] == f"{dependencies.TESTED['torch']}+cpu"


def test_torch_is_installed_first_and_alone() -> None:
    command = dependencies.install_command(["executorch", "torch", "torchao"])
    assert re.fullmatch(r"pip install torch==[\d.]+ && pip install executorch==[\d.]+ torchao==[\d.]+", command)


def test_a_package_that_brings_torchvision_names_its_version_too(monkeypatch: pytest.MonkeyPatch) -> None:
    timm, torchvision = (f"{name}=={dependencies.TESTED[name]}" for name in ("timm", "torchvision"))
    pretend(monkeypatch, {"torch": dependencies.TESTED["torch"]})
    assert dependencies.install_command(["timm"]) == f"pip install {timm} {torchvision}"
    assert dependencies.install_command(["torchvision", "timm"]) == f"pip install {torchvision} {timm}"
    pretend(monkeypatch, dependencies.TESTED)
    assert dependencies.install_command(["timm"]) == f"pip install {timm}"


def test_a_package_without_a_recommended_version_is_installed_in_its_range(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = {"mcp": Requirement("mcp<3,>=2.3").specifier}
    monkeypatch.setattr(dependencies, "supported_versions", lambda: ranges)
    assert dependencies.install_command(["mcp", "other"]) == 'pip install "mcp<3,>=2.3" other'
