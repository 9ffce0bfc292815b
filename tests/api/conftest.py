"""A device that the public functions can be given by name, and runs that were measured on it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from etprof.devices import DEVICES
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice
from scripted_device import a_runnable_plan, run_scripted, scripted_device


@contextmanager
def _open(request: DeviceRequest, _parts: DeviceParts) -> Iterator[OpenDevice]:
    request.progress("the device is ready")
    device = scripted_device()
    if request.place == "emulated":
        device = replace(device, info=replace(device.info, times_are_real=False))
    yield OpenDevice(device)


class ScriptedKind(ModuleType):
    KIND = DeviceKind(_open, lambda _request, _parts: scripted_device().info, summary="the runner of the tests")


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> str:
    """What to give as `device`: a kind like any other, with the scripted runner; scripted:emulated has no times."""
    monkeypatch.setitem(sys.modules, "etprof.devices.scripted", ScriptedKind("etprof.devices.scripted"))
    monkeypatch.setitem(DEVICES, "scripted", "scripted")
    return "scripted"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of four blocks for each of two variants. Only read it."""
    return run_scripted(a_runnable_plan(tmp_path_factory.mktemp("run"))).session.plan.output_root
