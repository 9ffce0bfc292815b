"""What devices say of themselves, read from the answers of a phone, a board, a server and this machine."""

import platform
import subprocess
from pathlib import Path

import pytest

from etprof.app.device_parts import RunnerParts
from etprof.core.errors import DeviceError
from etprof.devices.description import _SCRIPT, describe, parse_description
from local_shell import LocalShell
from system_files import a_phone

READ_FEATURES = RunnerParts().read_features

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


def test_a_phone_describes_itself() -> None:
    info = parse_description(PHONE, "android:X", READ_FEATURES)
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


def test_only_usable_cores_are_counted() -> None:
    said = PHONE.replace("@cores", "@usable\nallowed 0-7\nonline 0-2\nquota 200000 100000\n@cores")
    assert parse_description(said, "android:X", READ_FEATURES).cpu_count == 2


def test_an_offline_core_is_no_kind_of_its_own(tmp_path: Path) -> None:
    loop = _SCRIPT[_SCRIPT.index("echo @cores") : _SCRIPT.index("echo @end")]
    script = loop.replace("/sys/", f"{a_phone(tmp_path)}/sys/")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=30)
    cores = done.stdout.removeprefix("@cores\n")
    info = parse_description(f"{PHONE[: PHONE.index('@cores')]}@cores\n{cores}@end\n", "android:X", READ_FEATURES)
    assert {core for cluster in info.clusters for core in cluster.cores} == {0, 1, 2, 3, 4, 6, 7}


def test_a_device_that_says_nothing_is_refused() -> None:
    with pytest.raises(DeviceError, match="ssh:odd could not be identified"):
        parse_description("sh: uname: not found\n", "ssh:odd", READ_FEATURES)


SERVER = """@machine
x86_64
@kernel
Linux 6.1.0
@host
build7
@properties
@release
NAME="Debian"
PRETTY_NAME="Debian GNU/Linux 12"
@board
@product
@auxv
@sme_length
@cpuinfo
processor\t: 0
model name\t: Some CPU
flags\t\t: avx2 fma

processor\t: 1
model name\t: Some CPU
flags\t\t: avx2 fma
@cores
@end
"""


def test_a_server_without_cpufreq_describes_itself() -> None:
    info = parse_description(SERVER, "ssh:build7", READ_FEATURES)
    assert (info.model, info.soc, info.system) == ("build7", "", "Debian GNU/Linux 12, Linux 6.1.0")
    assert (info.architecture, info.cpu_model, info.cpu_count) == ("x86_64", "2x Some CPU", 2)
    assert (info.features, info.sme_vector_bits, info.governor) == (("fma3", "avx2"), None, "")


def test_a_board_is_named_by_its_device_tree_and_has_sme_only_where_it_says_so() -> None:
    said = PHONE[: PHONE.index("[ro.build")] + PHONE[PHONE.index("@release") :]
    info = parse_description(
        said.replace("@board\n", "@board\nSome Board\0\n").replace(f"{_HWCAP2_SME2:016x}", f"{0:016x}"),
        "ssh:board",
        READ_FEATURES,
    )
    assert (info.model, info.system) == ("Some Board", "Linux 6.6.30-android15")
    assert (info.features, info.sme_vector_bits) == (("dot",), None)


def test_the_script_is_understood_by_the_shell_of_this_machine() -> None:
    info = describe(LocalShell(), READ_FEATURES)
    assert info.cpu_count == RunnerParts().describe_host().cpu_count
    assert info.architecture == {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    assert info.features == RunnerParts().describe_host().features
