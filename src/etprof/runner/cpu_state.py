"""What may disturb a measurement on this machine: frequency, load and temperature, where the system reports them."""

import os
import sys
from pathlib import Path

from etprof.core.run import CpuState

_CPU_ROOT = Path("/sys/devices/system/cpu")
_THERMAL_ROOT = Path("/sys/class/thermal")


def read_cpu_state() -> CpuState:
    return CpuState(
        frequencies_khz=tuple(_read_numbers(_CPU_ROOT, "cpu[0-9]*/cpufreq/scaling_cur_freq")),
        load_average=os.getloadavg()[0],
        temperature_c=max((t / 1000 for t in _read_numbers(_THERMAL_ROOT, "thermal_zone*/temp")), default=None),
    )


def read_governor() -> str:
    """The frequency governor of the first core; empty where the system reports none."""
    path = _CPU_ROOT / "cpu0/cpufreq/scaling_governor"
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def read_affinity() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else []


def _read_numbers(root: Path, pattern: str) -> list[int]:
    numbers = []
    for path in sorted(root.glob(pattern)):
        try:
            numbers.append(int(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            # Some zones and offline cores cannot be read; their values are unknown.
            continue
    return numbers
