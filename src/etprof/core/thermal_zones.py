"""Which of Linux's thermal zones are a CPU's, and which of their readings can be true."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

# Patterns of a zone's type in lower case. The native runner's table is made from them. A bare `soc` is not among them:
# on Snapdragon that zone is the battery's state of charge.
CPU_ZONES = (
    "*cpu*",  # most boards and phones: cpu-thermal, cpu0-thermal, cpu-1-0-usr, cpuss-0, mtktscpu, CPU-therm, TCPU
    "soc[-_]*",  # Rockchip, Kirin, Amlogic, MediaTek: soc-thermal, soc_thermal, soc_max
    "x86_pkg_temp",
    "b0d4",  # Intel's processor device of the ACPI thermal framework
    "tsens*",  # older Snapdragon: sensors all over the chip, none of which is named
    "big", "mid", "little", "big-thermal", "little-thermal",  # Exynos and Tensor
    "bigcore*", "littlecore*",  # RK3588
    "cluster[0-9]*", "cls[0-9]*",  # Kirin
    "apc[0-9]*",  # Snapdragon: the processor clusters
    "imx_thermal_zone",
)  # fmt: skip
LOWEST_C, HIGHEST_C = -40.0, 150.0
# A disabled sensor reports zero. A zone in another unit than millidegrees seems to be there, too.
ABOUT_ZERO_C = 1.0


def is_cpu_zone(zone_type: str) -> bool:
    return any(fnmatchcase(zone_type.strip().lower(), pattern) for pattern in CPU_ZONES)


def find_temperature(zones: Iterable[tuple[str, float]]) -> float | None:
    """The highest believable temperature of a CPU, in degrees, from types of zones and their millidegrees."""
    degrees = [millidegrees / 1000 for zone_type, millidegrees in zones if is_cpu_zone(zone_type)]
    return max((c for c in degrees if LOWEST_C <= c <= HIGHEST_C and abs(c) >= ABOUT_ZERO_C), default=None)
