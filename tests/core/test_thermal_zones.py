"""Zones of the CPU by their type, and readings that cannot be true."""

import pytest

from etprof.core.thermal_zones import find_temperature, is_cpu_zone


@pytest.mark.parametrize(
    "zone_type",
    [
        "cpu-thermal", "cpu0-thermal", "cpu_thermal", "CPU-therm", "x86_pkg_temp", "TCPU", "B0D4", "soc-thermal",
        "soc_thermal", "soc_max", "bigcore0-thermal", "littlecore-thermal", "mtktscpu", "cpu-1-0-usr", "cpuss-0-usr",
        "tsens_tz_sensor11", "BIG", "MID", "LITTLE", "cluster0", "apc1-cpu0-usr", "imx_thermal_zone", "cpu-thermal\n",
    ],
)  # fmt: skip
def test_zones_of_a_cpu_are_known_by_their_type(zone_type: str) -> None:
    assert is_cpu_zone(zone_type)


@pytest.mark.parametrize(
    "zone_type",
    ["", "acpitz", "battery", "gpu-thermal", "gpuss-0-usr", "npu-thermal", "soc", "socd", "iwlwifi_1",
     "INT3400 Thermal", "mtktsbattery", "mdmss-0", "sdm-skin-therm-usr", "pch_cannonlake", "nvme", "ddr-thermal"],
)  # fmt: skip
def test_other_zones_are_not(zone_type: str) -> None:
    assert not is_cpu_zone(zone_type)


def test_the_hottest_zone_of_the_cpu_counts() -> None:
    assert find_temperature([("cpu0-thermal", 41_500), ("gpu-thermal", 80_000), ("cpu1-thermal", 63_250)]) == 63.25
    assert find_temperature([("cpu0-thermal", -12_000)]) == -12.0, "outdoors in winter"
    assert find_temperature([("battery", 30_000)]) is None
    assert find_temperature([]) is None


@pytest.mark.parametrize("nonsense", [0, -274_000, -40_001, 150_001, 2_147_483_647, 55, -127])
def test_a_reading_that_cannot_be_true_is_left_out(nonsense: float) -> None:
    assert find_temperature([("cpu-thermal", nonsense)]) is None
    assert find_temperature([("cpu-thermal", nonsense), ("cpu-thermal", 45_000)]) == 45.0
