"""The packages an export needs are checked against this distribution's own pins."""

import pytest

from etprof.core.errors import DependencyError
from etprof.export import dependencies


def test_the_pins_are_those_of_the_distribution() -> None:
    assert set(dependencies.RUNTIME) <= set(dependencies.pinned_versions())


def test_a_missing_package_is_named_with_the_command_that_brings_it() -> None:
    with pytest.raises(DependencyError, match="'net' needs no-such-package") as caught:
        dependencies.require_packages("net", ["pytest", "no-such-package"])
    assert caught.value.hint == "Run: pip install no-such-package"


def test_a_wrong_version_is_named_with_the_right_one(monkeypatch: pytest.MonkeyPatch) -> None:
    right = dependencies.pinned_versions()["torch"]
    found = {"torch": "1.0+cpu"} | {n: v for n, v in dependencies.pinned_versions().items() if n != "torch"}
    monkeypatch.setattr(dependencies, "installed_version", found.get)
    with pytest.raises(DependencyError) as caught:
        dependencies.runtime_versions()
    assert f"torch=={right} (found 1.0+cpu)" in caught.value.message
    assert caught.value.hint == f"Run: pip install torch=={right}"


def test_nothing_installed_names_all_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "installed_version", lambda name: None)
    with pytest.raises(DependencyError, match=r"torch==.*not installed.*executorch==.*torchao=="):
        dependencies.runtime_versions()


def test_a_local_build_of_the_right_version_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {n: f"{v}+cpu" for n, v in dependencies.pinned_versions().items()}
    monkeypatch.setattr(dependencies, "installed_version", found.get)
    assert dependencies.runtime_versions()["torch"].endswith("+cpu")


def test_the_command_asks_for_the_pinned_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "pinned_versions", lambda: {"torchvision": "9.9"})
    assert dependencies.install_command(["torchvision", "other"]) == "pip install torchvision==9.9 other"
