"""How many units of a CPU execute SME, and which cores share one: what Linux shows of each core's SMIDR_EL1."""

import re
import subprocess
import sys

from etprof.core.run import SmeUnits

_TIMEOUT_S = 10.0
# $etprof_root is set by tests only, to a folder with a recorded /sys. A CPU without SME has no such file.
SCRIPT = r"""
for core in $etprof_root/sys/devices/system/cpu/cpu[0-9]*; do
  { read -r value < $core/regs/identification/smidr_el1 && echo "${core##*/cpu} $value"; } 2>/dev/null
done
"""
# Of the Arm Architecture Reference Manual: whether a unit is shared (SH), and which one it is (Affinity).
_SHARING_BIT, _PRIVATE, _SHARED = 13, 0b10, 0b11
_AFFINITY = 0xFFF
_REGISTER = re.compile(r"^(\d{1,6}) (0x[0-9a-fA-F]{1,16})\s*$", re.M)
# Apple's systems do not report units. These are the numbers that llama.cpp uses (detect_num_smcus in kleidiai.cpp): one
# for each cluster of performance cores. Whether efficiency cores have one is disputed; other chips are not known.
_APPLE_UNITS = {"Apple M4": 1, "Apple M4 Pro": 2, "Apple M4 Max": 2}


def parse_sme_units(said: str) -> SmeUnits | None:
    """None where no core has SME, or a core does not say whether it shares its unit."""
    registers = dict(sorted((int(core), int(value, 16)) for core, value in _REGISTER.findall(said)))
    sharing = {value >> _SHARING_BIT & 0b11 for value in registers.values()}
    if not registers or not sharing <= {_PRIVATE, _SHARED}:
        return None
    units: dict[tuple[int, int], list[int]] = {}
    for core, value in registers.items():
        is_shared = value >> _SHARING_BIT & 0b11 == _SHARED
        units.setdefault((1, value & _AFFINITY) if is_shared else (0, core), []).append(core)
    return SmeUnits(len(units), _SHARED in sharing, tuple(sorted(map(tuple, units.values()))))


def read_local_sme_units(cpu_model: str) -> SmeUnits | None:
    """Of this machine."""
    if sys.platform == "darwin":
        return assume_apple_units(cpu_model)
    done = subprocess.run(["/bin/sh", "-c", SCRIPT], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    return parse_sme_units(done.stdout)


def assume_apple_units(chip: str) -> SmeUnits | None:
    count = _APPLE_UNITS.get(chip)
    return SmeUnits(count, is_shared=True, assumed_from=chip) if count else None
