"""Devices from Python: what their CPUs can do."""

from dataclasses import replace

from etprof.api.tables import Table, build_table
from etprof.app.devices import parse_device
from etprof.app.peaks import list_peaks
from etprof.core import records
from etprof.core.errors import DeviceError


def peaks(device: str = "local", *, again: bool = False, device_folder: str = "") -> Table:
    """What the CPU of a device can do at most, as `etprof devices peaks` shows it: measured once, in at most 10 s.

    A row for each kind of instruction or level of the memory, at each thread count. `again` measures it anew.
    """
    found = list_peaks(replace(parse_device(device), folder=device_folder), again=again)
    if found.peaks is None:
        raise DeviceError(f"{found.device.name} is emulated: its times are not meaningful.", hint="Name a real device.")
    return build_table(records.PeakRecord._fields, records.list_peaks(found.peaks))
