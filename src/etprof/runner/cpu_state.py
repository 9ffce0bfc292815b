"""What may disturb a measurement on this machine: frequency, load and temperature, where the system reports them."""

import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from etprof.core.macos import read_thermal_pressure
from etprof.core.run import CpuState
from etprof.core.thermal_zones import find_temperature, is_cpu_zone

_CPUS = "sys/devices/system/cpu"
_ZONES = "sys/class/thermal"


def read_cpu_state(cores: Collection[int], root: Path = Path("/")) -> CpuState:
    """The frequencies are those of the given cores; `root` is the folder above `sys`."""
    # First, while the cores still have the frequency that they worked at.
    frequencies = {core: _read(root / _CPUS / f"cpu{core}/cpufreq/scaling_cur_freq") for core in cores}
    return CpuState(
        frequencies_khz={core: int(said) for core, said in frequencies.items() if said.isdigit()},
        load_average=os.getloadavg()[0],
        temperature_c=find_temperature(_read_cpu_zones(root)),
        throttling=read_thermal_pressure(),
    )


def read_governor(root: Path = Path("/")) -> str:
    """The frequency governor of the first core; empty where the system reports none."""
    return _read(root / _CPUS / "cpu0/cpufreq/scaling_governor")


def read_affinity() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else []


def _read_cpu_zones(root: Path) -> Iterator[tuple[str, float]]:
    """Only CPU zones are read: a battery's or a modem's can take tens of milliseconds."""
    for zone in (root / _ZONES).glob("thermal_zone*"):
        zone_type = _read(zone / "type")
        if is_cpu_zone(zone_type) and (said := _read(zone / "temp")).lstrip("-").isdigit():
            yield zone_type, int(said)


def _read(path: Path) -> str:
    """Empty where there is no such file, or where it cannot be read: some zones, and cores that are offline."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
