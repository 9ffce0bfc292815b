"""A device is one file and one line: one is added to a copy of the package, and everything knows it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import etprof
from conftest import ROOT
from etprof.devices import DEVICES, list_usages, load_kind
from etprof.devices.kind import DeviceKind
from scripted_device import a_runnable_plan

_FILE = '''"""This machine under another name, with the tests' scripted runner."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from etprof.core.run import DeviceInfo
from etprof.devices.base import runner_flags
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice
from etprof.devices.local import LocalDevice


class LoopbackDevice(LocalDevice):
    platform = "loopback"


@contextmanager
def _open(request: DeviceRequest, parts: DeviceParts) -> Iterator[OpenDevice]:
    runner = [sys.executable, "{runner}"]
    yield OpenDevice(LoopbackDevice(lambda job: [*runner, *runner_flags(job)], _describe(request, parts)))


def _describe(request: DeviceRequest, parts: DeviceParts) -> DeviceInfo:
    return replace(parts.describe_host(), name="loopback", model="Loop 3000")


KIND = DeviceKind(_open, _describe, find=lambda: ("",))
'''
_LINE = '    "loopback": "loopback",\n'


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of `src` with the file and the line."""
    source = tmp_path_factory.mktemp("tree") / "src"
    shutil.copytree(Path(etprof.__file__).parent, source / "etprof", ignore=shutil.ignore_patterns("__pycache__"))
    devices = source / "etprof" / "devices"
    runner = Path(__file__).parents[1] / "scripted_runner.py"
    (devices / "loopback.py").write_text(_FILE.replace("{runner}", str(runner)))
    registry = devices / "__init__.py"
    before = registry.read_text()
    registry.write_text(before.replace("DEVICES = {\n", "DEVICES = {\n" + _LINE))
    assert len(registry.read_text().splitlines()) == len(before.splitlines()) + 1
    return source


def run(tree: Path, *arguments: str, expect: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": str(tree), "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_new_device_is_listed_described_and_in_the_help(tree: Path) -> None:
    assert "\n  Loop 3000, Linux" in run(tree, "-m", "etprof", "devices", "list")
    assert run(tree, "-m", "etprof", "devices", "show", "loopback").startswith("loopback\n  Loop 3000, Linux")
    assert "Where to run: loopback, local," in run(tree, "-m", "etprof", "profile", "--help")
    assert "Devices: loopback, local," in run(tree, "-m", "etprof", "devices", "show", "toaster", expect=2)


def test_a_new_device_that_keeps_nothing_cannot_be_cleaned(tree: Path) -> None:
    said = run(tree, "-m", "etprof", "devices", "clean", "loopback", expect=2)
    assert "Only android and ssh devices can be cleaned." in said


def test_a_plan_runs_on_a_new_device(tree: Path, tmp_path: Path) -> None:
    model = a_runnable_plan(tmp_path).model
    plan = {
        "model": str(model),
        "output_root": str(tmp_path / "run"),
        "experiments": [{"name": "off", "hide_isa": ["avx2"]}, {"name": "on"}],
        "schedule": {"blocks": 3, "retries": 0},
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    said = run(tree, "-m", "etprof", "run", str(tmp_path / "plan.json"), "--device", "loopback")
    assert "6 blocks: all 3 planned rounds were run" in said
    said = run(
        tree, "-m", "etprof", "run", str(tmp_path / "plan.json"), "--force", "--device", "loopback", "--prepare",
        expect=2,
    )  # fmt: skip
    assert "--prepare is for android and ssh devices." in said


def test_a_new_device_joins_the_contract_test(tree: Path) -> None:
    contract = Path(__file__).with_name("test_contract.py")
    said = run(tree, "-m", "pytest", "-q", "-k", "loopback", "-p", "no:cacheprovider", str(contract))
    assert "4 passed" in said


@pytest.mark.parametrize("name", DEVICES)
def test_every_kind_is_a_module_with_what_its_line_says(name: str) -> None:
    assert isinstance(load_kind(name), DeviceKind)
    assert DEVICES[name].startswith(name)
    assert DEVICES[name] in list_usages()
