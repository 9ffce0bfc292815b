"""What devices say of themselves, read from the words of a phone, a board and a server."""

from collections.abc import Mapping

import pytest

from etprof.core.errors import DeviceError, UsageError
from etprof.core.run import Cluster
from etprof.device_choice import read_features
from etprof.devices.core_types import Core, build_clusters, resolve_cluster
from etprof.devices.description import parse_description
from etprof.devices.state import parse_state

_HWCAP2_SME2 = 1 << 37 | 1 << 23
PHONE = f"""@machine
aarch64
@kernel
Linux 6.6.30-android15
@host
localhost
@properties
[ro.build.fingerprint]: [maker/device/device:16/AB12/1:user/release-keys]
[ro.build.version.release]: [16]
[ro.product.manufacturer]: [Maker]
[ro.product.model]: [Phone [5G]]
[ro.soc.manufacturer]: [Chip]
[ro.soc.model]: [C9500]
@release
@board
@product
@auxv
 0000000000000010 0000000000100000
 000000000000001a {_HWCAP2_SME2:016x}
 0000000000000000 0000000000000000
@sme_length
64
@cpuinfo
processor\t: 0
CPU implementer\t: 0x41
CPU part\t: 0xd80

processor\t: 1
CPU implementer\t: 0x41
CPU part\t: 0xd8b

processor\t: 2
CPU implementer\t: 0x41
CPU part\t: 0xd8c
@cores
0 300 2000000 schedutil
1 800 3000000 schedutil
2 1024 4000000 performance
@end
"""


def no_features(architecture: str, cpuinfo: str, vector: Mapping[int, int]) -> tuple[str, ...]:
    return ()


def test_a_phone_describes_itself() -> None:
    info = parse_description(PHONE, "android:X", read_features)
    assert (info.model, info.soc) == ("Maker Phone [5G]", "Chip C9500")
    assert info.system == "Android 16, Linux 6.6.30-android15"
    assert info.build == "maker/device/device:16/AB12/1:user/release-keys"
    assert info.features == ("dot", "sme", "sme2")
    assert (info.architecture, info.sme_vector_bits, info.cpu_count) == ("arm64", 512, 3)
    assert info.governor == "performance, schedutil"
    assert info.cpu_model == "1x C1-Ultra + 1x C1-Pro + 1x Cortex-A520"
    assert [(c.name, c.cores, c.max_khz) for c in info.clusters] == [
        ("little", (0,), 2_000_000), ("big", (1,), 3_000_000), ("prime", (2,), 4_000_000),
    ]  # fmt: skip


def test_a_device_that_says_nothing_is_refused() -> None:
    with pytest.raises(DeviceError, match="does not say what it is"):
        parse_description("sh: uname: not found\n", "ssh:odd", no_features)


def test_two_kinds_of_cores_are_little_and_big() -> None:
    clusters = build_clusters([Core(i, "A", 400) for i in range(4)] + [Core(i, "B", 1024) for i in range(4, 8)])
    assert resolve_cluster("little", clusters) == (0, 1, 2, 3)
    assert resolve_cluster("big", clusters) == (4, 5, 6, 7)
    with pytest.raises(UsageError, match="no prime cores") as raised:
        resolve_cluster("prime", clusters)
    assert raised.value.hint.startswith("It has little and big cores.")


def test_equal_cores_have_no_cluster_names() -> None:
    clusters = build_clusters([Core(0, "A"), Core(1, "A")])
    assert clusters == (Cluster("", "A", (0, 1)),)
    with pytest.raises(UsageError, match="no big cores") as raised:
        resolve_cluster("big", clusters)
    assert "All its cores are alike." in raised.value.hint


def test_middle_cores_are_all_big() -> None:
    cores = [Core(0, "A", 100), Core(1, "B", 500), Core(2, "C", 700), Core(3, "D", 1024)]
    assert resolve_cluster("big", build_clusters(cores)) == (1, 2)


def test_a_phones_state_is_read() -> None:
    state = parse_state(
        "frequency 1 2000000\nfrequency 0 1000000\nfrequency 10 3000000\ngovernor 0 schedutil\ntemperature 41000\n"
        "temperature 38000\nload 1.50\nbattery Current Battery Service state:\nbattery AC powered: false\n"
        "battery USB powered: true\nbattery level: 81\nbattery temperature: 315\nthermal 2\nsaver 0\n"
    )
    assert state.frequencies_khz == (1_000_000, 2_000_000, 3_000_000)
    assert (state.temperature_c, state.load_average, state.governors) == (41.0, 1.5, ("schedutil",))
    assert (state.battery_percent, state.battery_c, state.on_battery) == (81, 31.5, False)
    assert (state.throttling, state.saves_power) == (2, False)


def test_what_is_not_told_stays_unknown() -> None:
    state = parse_state("load 0.10\nsaver null\n")
    assert (state.temperature_c, state.throttling, state.on_battery, state.saves_power) == (None, None, None, None)


def test_a_laptops_state_is_read() -> None:
    state = parse_state("battery level: 40\nsupply Discharging\ncooling 0\ncooling 3\nprofile low-power\n")
    assert (state.battery_percent, state.on_battery, state.throttling, state.saves_power) == (40, True, 3, True)
