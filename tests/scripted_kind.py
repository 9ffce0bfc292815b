"""A kind of device that can be named like any other, with the scripted runner behind it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType

import pytest

from etprof.devices import DEVICES
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice
from scripted_device import scripted_device


@contextmanager
def _open(request: DeviceRequest, _parts: DeviceParts) -> Iterator[OpenDevice]:
    request.progress("the device is ready")
    device = scripted_device()
    if request.place == "emulated":
        device = replace(device, info=replace(device.info, times_are_real=False))
    yield OpenDevice(device)


class ScriptedKind(ModuleType):
    KIND = DeviceKind(_open, lambda _request, _parts: scripted_device().info, summary="the runner of the tests")


def add_scripted_kind(monkeypatch: pytest.MonkeyPatch) -> str:
    """What to give as `--device`; scripted:emulated has no times."""
    monkeypatch.setitem(sys.modules, "etprof.devices.scripted", ScriptedKind("etprof.devices.scripted"))
    monkeypatch.setitem(DEVICES, "scripted", "scripted")
    return "scripted"
