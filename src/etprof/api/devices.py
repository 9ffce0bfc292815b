"""Devices from Python: what their CPUs can do, and whether everything works there."""

from dataclasses import replace
from pathlib import Path

from etprof.api import StrPath
from etprof.api.tables import Table, build_table
from etprof.app.devices import parse_device
from etprof.app.peaks import list_peaks
from etprof.app.self_test import run_self_test, write_self_test
from etprof.core import records
from etprof.core.errors import DeviceError


def peaks(
    device: str = "local", *, again: bool = False, device_folder: str = "", runner_bundle: StrPath | None = None
) -> Table:
    """What the CPU of a device can do at most, as `etprof devices peaks` shows it: measured once, in at most 10 s.

    A row for each kind of instruction or level of the memory, at each thread count. `again` measures it anew.
    """
    bundle = Path(runner_bundle) if runner_bundle is not None else None
    found = list_peaks(replace(parse_device(device), folder=device_folder, bundle=bundle), again=again)
    if found.peaks is None:
        raise DeviceError(f"{found.device.name} is emulated: its times are not meaningful.", hint="Name a real device.")
    return build_table(records.PeakRecord._fields, records.list_peaks(found.peaks))


def self_test(
    device: str = "local",
    *,
    device_folder: str = "",
    emulator: str = "",
    runner_bundle: StrPath | None = None,
    out: StrPath | None = None,
    wait: bool = True,
) -> Table:
    """Tries every part of the work on a device, as `etprof doctor --self-test` does: a row for each, in about a minute.

    `outcome` is pass, fail or not here. `out` is a file for the report, which has no names and folders in it. Unless
    it is to `wait`, it fails where another run is measuring.
    """
    bundle = Path(runner_bundle) if runner_bundle is not None else None
    request = replace(parse_device(device), folder=device_folder, emulator=emulator, bundle=bundle, wait=wait)
    found = run_self_test(request)
    if out is not None:
        write_self_test(found, Path(out))
    rows = [(check.name, check.outcome.value, check.found, check.hint) for check in found.checks]
    return build_table(("check", "outcome", "found", "hint"), rows)
