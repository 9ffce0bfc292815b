"""The files below /sys and /proc that readers look at, laid out as the kernels of real devices do."""

from collections.abc import Mapping
from pathlib import Path

# A phone with four little, three big cores and a prime one under schedutil, core 5 offline: its cpufreq folder is gone.
PHONE_CORES = {0: 1_113_600, 1: 1_113_600, 2: 1_113_600, 3: 1_113_600, 4: 2_496_000, 6: 2_496_000, 7: 3_187_200}
# `soc` is the battery's state of charge; what is not a CPU's zone is hotter here, and two sensors are broken.
PHONE_ZONES = [
    ("aoss-0", "61000"), ("cpu-0-0-usr", "48300"), ("cpu-1-0-usr", "57600"), ("cpu-1-7-usr", "-274000"),
    ("cpuss-1-usr", "0"), ("gpuss-0-usr", "71000"), ("sdm-skin-therm-usr", "36000"), ("battery", "31500"),
    ("soc", "84"), ("cpu-1-6-usr", "214748364"), ("mdmss-0", "66000"), ("cpu-hot-unreadable", "nonsense"),
]  # fmt: skip


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


def a_phone(root: Path, frequencies: Mapping[int, int] = PHONE_CORES) -> Path:
    cpu, thermal = "sys/devices/system/cpu", "sys/class/thermal"
    files = {f"{cpu}/online": "0-4,6-7", f"{cpu}/possible": "0-7", "proc/loadavg": "3.45 3.10 2.99 4/5012 23011"}
    for core in range(8):
        files[f"{cpu}/cpu{core}/online"] = "1" if core in frequencies else "0"
        files[f"{cpu}/cpu{core}/cpu_capacity"] = str(325 if core < 4 else 828 if core < 7 else 1024)
        if core in frequencies:
            files[f"{cpu}/cpu{core}/cpufreq/scaling_cur_freq"] = str(frequencies[core])
            files[f"{cpu}/cpu{core}/cpufreq/scaling_governor"] = "schedutil"
    for index, (kind, temperature) in enumerate(PHONE_ZONES):
        # Numbers have gaps where a driver was unloaded.
        number = index if index < 3 else index + 2
        files |= {f"{thermal}/thermal_zone{number}/type": kind, f"{thermal}/thermal_zone{number}/temp": temperature}
    files |= {f"{thermal}/cooling_device0/type": "cpufreq-cpu4", f"{thermal}/cooling_device0/cur_state": "2"}
    return write_files(root, files)
