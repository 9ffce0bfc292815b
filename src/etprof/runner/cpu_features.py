"""The features that the operating system reports for this CPU, in cpuinfo's names."""

import ctypes
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from etprof.core.macos import is_macos, read_sysctls
from etprof.runner.isa import ARM64_LINUX_HWCAPS, ARM64_MACOS_SYSCTLS, X86_64_LINUX_FLAGS

_PR_SME_GET_VL = 64
_PR_VL_LEN_MASK = 0xFFFF
_MACOS_FEATURES = "hw.optional.arm"
_MACOS_CHIP = "machdep.cpu.brand_string"
# In bytes; macOS before 15.2 does not know it.
_MACOS_VECTOR_LENGTH = "hw.optional.arm.sme_max_svl_b"


def host_architecture() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(machine, machine)


def read_reported_features() -> dict[str, bool]:
    """Feature name to present or not, for every feature this system reports; empty where it reports none."""
    architecture = host_architecture()
    if is_macos() and architecture == "arm64":
        return parse_macos_features(read_sysctls(_MACOS_FEATURES))
    if sys.platform.startswith("linux") and architecture == "arm64":
        return _read_hwcaps()
    if sys.platform.startswith("linux") and architecture == "x86_64":
        return parse_x86_flags(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return {}


def parse_x86_flags(cpuinfo_text: str) -> dict[str, bool]:
    line = next((ln for ln in cpuinfo_text.splitlines() if ln.startswith("flags")), "")
    flags = set(line.partition(":")[2].split())
    return {name: flag in flags for flag, name in X86_64_LINUX_FLAGS.items()} if flags else {}


def parse_macos_features(sysctls: Mapping[str, str]) -> dict[str, bool]:
    """A name that this macOS does not know is a feature that it does not report as present."""
    return {name: sysctls.get(f"{_MACOS_FEATURES}.{key}") == "1" for key, name in ARM64_MACOS_SYSCTLS.items()}


def parse_macos_vector_bits(sysctls: Mapping[str, str]) -> int | None:
    said = sysctls.get(_MACOS_VECTOR_LENGTH, "")
    return int(said) * 8 if said.isdecimal() and int(said) else None


def present_features() -> tuple[str, ...]:
    return tuple(name for name, present in read_reported_features().items() if present)


def read_sme_vector_bits() -> int | None:
    """The SME streaming vector length, or None where there is no SME or the system does not report it."""
    if is_macos():
        return parse_macos_vector_bits(read_sysctls(_MACOS_VECTOR_LENGTH))
    if not sys.platform.startswith("linux") or host_architecture() != "arm64":
        return None
    length = ctypes.CDLL(None).prctl(_PR_SME_GET_VL, 0, 0, 0, 0)
    return (length & _PR_VL_LEN_MASK) * 8 if length > 0 else None


def read_cpu_model() -> str:
    if is_macos():
        return read_sysctls(_MACOS_CHIP).get(_MACOS_CHIP) or platform.machine()
    fields: dict[str, str] = {}
    path = Path("/proc/cpuinfo")
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    if "model name" in fields:
        return fields["model name"]
    if "CPU part" in fields:
        return f"Arm implementer {fields.get('CPU implementer', '?')} part {fields['CPU part']}"
    return platform.processor() or platform.machine()


def _read_hwcaps() -> dict[str, bool]:
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype = ctypes.c_ulong
    getauxval.argtypes = [ctypes.c_ulong]
    return {name: bool(getauxval(entry) >> bit & 1) for (entry, bit), name in ARM64_LINUX_HWCAPS.items()}
