"""SME units of CPUs, from the registers that Linux shows, laid out as kernels do."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from etprof.app.device_parts import RunnerParts
from etprof.core.run import SmeUnits
from etprof.devices.description import _SCRIPT, parse_description
from etprof.devices.sme_units import SCRIPT, assume_apple_units, parse_sme_units
from system_files import a_phone, write_files

# Implementer Arm, then whether the unit is shared in bits 14:13, and which one it is in bits 11:0.
PRIVATE, SHARED, UNTOLD = 0x4100_4000, 0x4100_6000, 0x4100_0000


def write_registers(root: Path, registers: Mapping[int, int]) -> Path:
    """Every core has the folder with its identification; the register is only there with SME."""
    folder = "sys/devices/system/cpu/cpu{}/regs/identification"
    files = {f"{folder.format(core)}/midr_el1": "0x00000000410fd8c0" for core in range(8)}
    files |= {f"{folder.format(core)}/smidr_el1": f"0x{value:016x}" for core, value in registers.items()}
    return write_files(root, files)


def ask(root: Path) -> str:
    done = subprocess.run(["sh", "-c", f"etprof_root='{root}'\n{SCRIPT}"], capture_output=True, text=True, timeout=30)
    return done.stdout


@pytest.mark.parametrize(
    ("registers", "units"),
    [
        pytest.param({}, None, id="a CPU without SME"),
        pytest.param(
            dict.fromkeys(range(4), PRIVATE),
            SmeUnits(4, is_shared=False, cores=((0,), (1,), (2,), (3,))),
            id="a unit in each core",
        ),
        pytest.param(
            dict.fromkeys(range(8), SHARED | 7), SmeUnits(1, is_shared=True, cores=(tuple(range(8)),)),
            id="one for all cores",
        ),
        pytest.param(
            {core: SHARED | (0x0 if core < 4 else 0x1) for core in range(8)},
            SmeUnits(2, is_shared=True, cores=((0, 1, 2, 3), (4, 5, 6, 7))),
            id="one for each cluster",
        ),
        pytest.param(
            {**dict.fromkeys(range(6), SHARED), 6: PRIVATE, 7: PRIVATE},
            SmeUnits(3, is_shared=True, cores=((0, 1, 2, 3, 4, 5), (6,), (7,))),
            id="one of their own for the prime cores",
        ),
        pytest.param(dict.fromkeys(range(8), UNTOLD), None, id="whether they are shared is not told"),
    ],
)  # fmt: skip
def test_units_are_those_of_the_registers(registers: dict[int, int], units: SmeUnits | None, tmp_path: Path) -> None:
    assert parse_sme_units(ask(write_registers(tmp_path, registers))) == units


@pytest.mark.parametrize("said", ["", "0", "x 0x1", "0 nonsense", "1 2 3", "0 0xzz", "\0\n\n", "9" * 5000 + " 0x4100"])
def test_nonsense_is_no_unit(said: str) -> None:
    assert parse_sme_units(said) is None


def test_cores_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """A shell lists cpu10 before cpu2."""
    units = parse_sme_units(ask(write_registers(tmp_path, {2: SHARED, 10: SHARED, 1: SHARED})))
    assert units == SmeUnits(1, is_shared=True, cores=((1, 2, 10),))


def test_a_device_describes_its_units_and_performance_cores(tmp_path: Path) -> None:
    root = write_registers(a_phone(tmp_path), {core: SHARED | (core > 3) for core in (*range(5), 6, 7)})
    recorded = _SCRIPT.replace("/sys/devices/system/cpu/cpu[0-9]", f"{root}/sys/devices/system/cpu/cpu[0-9]")
    # What this machine says of its own cores would be mixed with the recorded ones.
    recorded = recorded.replace(f"$etprof_root{root}", str(root)).replace("cat /proc/cpuinfo", "true")
    said = subprocess.run(["sh", "-c", recorded], capture_output=True, text=True, timeout=30).stdout
    info = parse_description(said, "a phone", RunnerParts().read_features)
    assert info.sme_units == SmeUnits(2, is_shared=True, cores=((0, 1, 2, 3), (4, 6, 7)))
    assert info.performance_cores == 3, "of eight cores four are little and one is offline"


def test_units_of_apples_chips_are_assumed_and_say_so() -> None:
    assert assume_apple_units("Apple M4 Pro") == SmeUnits(2, is_shared=True, assumed_from="Apple M4 Pro")
    assert assume_apple_units("Apple M4") == SmeUnits(1, is_shared=True, assumed_from="Apple M4")
    assert [assume_apple_units(chip) for chip in ("Apple M1", "Apple M5", "")] == [None] * 3


def test_this_machine_answers() -> None:
    """An x86 machine has no such register."""
    info = RunnerParts().describe_host()
    assert info.sme_units is None or info.sme_units.count >= 1
