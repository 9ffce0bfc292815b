"""Finished runs for the commands that look at them, measured once with the scripted runner."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.store.session_file import load_session, save_session
from real_devices import emulator
from scripted_device import a_runnable_plan, run_scripted

__all__ = ["emulated_dir", "emulator", "measured", "run_dir"]


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model and of its run. Copy what you change."""
    folder = tmp_path_factory.mktemp("measured")
    run_scripted(a_runnable_plan(folder, blocks=3))
    return folder


@pytest.fixture
def run_dir(measured: Path, tmp_path: Path) -> Path:
    """Three blocks of `off` with 4 ms and of `on` with 2 ms, traced; nothing is written but what was measured."""
    shutil.copytree(measured, tmp_path / "out_model")
    return tmp_path / "out_model" / "runs" / "linux"


@pytest.fixture
def emulated_dir(run_dir: Path) -> Path:
    """The same, had an emulated device run it."""
    session = load_session(run_dir)
    save_session(run_dir, replace(session, device=replace(session.device, times_are_real=False)))
    return run_dir
