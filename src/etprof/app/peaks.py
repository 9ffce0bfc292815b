"""What the CPU of a device can do at most: measured once, kept with its description, and put beside its runs."""

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from etprof.analysis.timing.peaks import build_peaks
from etprof.app.devices import DeviceRequest, open_device
from etprof.core.errors import RunnerError, TraceError
from etprof.core.peaks import CheckedLoop, PeakPasses, Peaks
from etprof.core.plan import Block, Experiment
from etprof.core.run import DeviceInfo, Job
from etprof.devices.base import Device
from etprof.runner.build import cache_dir
from etprof.store.json_file import write_json
from etprof.store.peaks_file import SCHEMA_VERSION, load_peaks, save_peaks
from etprof.traces.peaks_result import read_peaks_result

PASSES = 100
_TIMEOUT_S = 120.0
_DEVICE_FILE = "device.json"


@dataclass(frozen=True)
class DevicePeaks:
    """`peaks` is None on an emulated device, whose loops are only `checked`: its times are not meaningful."""

    device: DeviceInfo
    peaks: Peaks | None
    checked: tuple[CheckedLoop, ...] = ()


def find_peaks(device: DeviceInfo) -> Peaks | None:
    """Those that were measured on this device with this kernel; None where that was not done."""
    return load_peaks(cached_folder(device))


def list_peaks(request: DeviceRequest, *, again: bool = False) -> DevicePeaks:
    """The peaks of a device, measured now where they are not known, or `again`."""
    with open_device(request) as opened:
        info = opened.device.describe()
        if not info.times_are_real:
            return DevicePeaks(info, None, _run_loops(opened.device, passes=0).checked)
        peaks = None if again else find_peaks(info)
        if peaks is None:
            with opened.take_turn():
                peaks = _measure(opened.device)
        return DevicePeaks(info, peaks)


def ensure_peaks(device: Device, tell: Callable[[str], None]) -> Peaks | None:
    """For a run that goes on without them: None where they cannot be measured."""
    info = device.describe()
    if not info.times_are_real:
        return None
    found = find_peaks(info)
    if found is not None:
        return found
    tell("measuring what this CPU can do, once for this device: at most 10 s")
    try:
        return _measure(device)
    except (RunnerError, TraceError) as error:
        tell(f"no roofline: {error.message}")
        return None


def _measure(device: Device) -> Peaks:
    info = device.describe()
    said = _run_loops(device, passes=PASSES)
    peaks = build_peaks(said, info.architecture, datetime.now(UTC).isoformat(timespec="seconds"))
    folder = cached_folder(info)
    save_peaks(folder, peaks)
    write_json(folder / _DEVICE_FILE, {"schema_version": 1, **asdict(info)})
    return peaks


def _run_loops(device: Device, *, passes: int) -> PeakPasses:
    info = device.describe()
    with tempfile.TemporaryDirectory(prefix="etprof-peaks-") as scratch:
        folder = Path(scratch)
        job = Job(
            block=Block(Experiment("peaks"), info.cpu_count, 0),
            model=Path(),
            inputs=(),
            result=folder / "peaks.result.json",
            etdump=folder / "peaks.etdump",
            log=folder / "peaks.log",
            outputs=folder / "outputs",
            timeout_s=_TIMEOUT_S,
            peak_passes=passes,
        )
        outcome = device.run(job)
        if outcome.exit_code != 0:
            said = job.log.read_text(encoding="utf-8", errors="replace").strip() if job.log.is_file() else ""
            reason = said.splitlines()[-1].removeprefix("error: ") if said else outcome.problem
            raise RunnerError(
                f"What the CPU of {info.name} can do was not measured: {reason.rstrip('.')}.",
                hint="It needs the native runner: `etprof doctor` says what that lacks.",
            )
        return read_peaks_result(job.result)


def cached_folder(device: DeviceInfo) -> Path:
    """One for each device and kernel: an update of either may change what it can do."""
    known = [
        str(SCHEMA_VERSION), device.name, device.system, device.architecture, device.cpu_model, str(device.cpu_count),
        device.soc, device.build, *device.features,
    ]  # fmt: skip
    return cache_dir() / "devices" / hashlib.sha256("\0".join(known).encode()).hexdigest()[:16]
