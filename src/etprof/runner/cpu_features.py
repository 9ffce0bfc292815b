"""The features that the operating system reports for this CPU, in cpuinfo's names."""

import ctypes
import platform
import subprocess
import sys
from pathlib import Path

from etprof.runner.isa import ARM64_LINUX_HWCAPS, ARM64_MACOS_SYSCTLS, X86_64_LINUX_FLAGS

_PR_SME_GET_VL = 64
_PR_VL_LEN_MASK = 0xFFFF


def host_architecture() -> str:
    machine = platform.machine().lower()
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(machine, machine)


def read_reported_features() -> dict[str, bool]:
    """Feature name to present or not, for every feature this system reports; empty where it reports none."""
    architecture = host_architecture()
    if sys.platform == "darwin" and architecture == "arm64":
        return {name: _read_sysctl(f"hw.optional.arm.{key}") == "1" for key, name in ARM64_MACOS_SYSCTLS.items()}
    if sys.platform.startswith("linux") and architecture == "arm64":
        return _read_hwcaps()
    if sys.platform.startswith("linux") and architecture == "x86_64":
        return parse_x86_flags(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return {}


def parse_x86_flags(cpuinfo_text: str) -> dict[str, bool]:
    line = next((ln for ln in cpuinfo_text.splitlines() if ln.startswith("flags")), "")
    flags = set(line.partition(":")[2].split())
    return {name: flag in flags for flag, name in X86_64_LINUX_FLAGS.items()} if flags else {}


def present_features() -> tuple[str, ...]:
    return tuple(name for name, present in read_reported_features().items() if present)


def read_sme_vector_bits() -> int | None:
    """The SME streaming vector length, or None where there is no SME or the system does not report it."""
    if not sys.platform.startswith("linux") or host_architecture() != "arm64":
        return None
    length = ctypes.CDLL(None).prctl(_PR_SME_GET_VL, 0, 0, 0, 0)
    return (length & _PR_VL_LEN_MASK) * 8 if length > 0 else None


def read_cpu_model() -> str:
    if sys.platform == "darwin":
        return _read_sysctl("machdep.cpu.brand_string") or platform.machine()
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


def read_performance_cores() -> int | None:
    """As macOS counts them; None on other systems."""
    said = _read_sysctl("hw.perflevel0.physicalcpu") if sys.platform == "darwin" else ""
    return int(said) if said.isdigit() else None


def _read_hwcaps() -> dict[str, bool]:
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype = ctypes.c_ulong
    getauxval.argtypes = [ctypes.c_ulong]
    return {name: bool(getauxval(entry) >> bit & 1) for (entry, bit), name in ARM64_LINUX_HWCAPS.items()}


def _read_sysctl(name: str) -> str:
    done = subprocess.run(["/usr/sbin/sysctl", "-n", name], capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
