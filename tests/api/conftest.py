"""A device that the public functions can be given by name, and runs that were measured on it."""

from pathlib import Path

import pytest

from scripted_device import a_runnable_plan, run_scripted
from scripted_kind import add_scripted_kind


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> str:
    """What to give as `device`: a kind like any other, with the scripted runner; scripted:emulated has no times."""
    return add_scripted_kind(monkeypatch)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of four blocks for each of two variants. Only read it."""
    return run_scripted(a_runnable_plan(tmp_path_factory.mktemp("run"))).session.plan.output_root
