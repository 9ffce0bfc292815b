"""Where a block runs: one module for each kind of device, which defines its `KIND`."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from etprof.devices.kind import DeviceKind

# Each module with what users write after `--device`. A module is imported when its kind is used: `--help`, which lists
# them all, does not wait for any.
DEVICES = {
    "local": "local",
    "emulated": "emulated",
    "android": "android[:SERIAL]",
    "ssh": "ssh:USER@HOST[:PORT]",
}


def load_kind(name: str) -> "DeviceKind":
    kind: DeviceKind = import_module(f"etprof.devices.{name}").KIND
    return kind


def list_usages() -> str:
    """What `--device` takes, as a phrase: local, emulated or ssh:HOST."""
    *others, last = DEVICES.values()
    return f"{', '.join(others)} or {last}" if others else last
