"""The QEMU that stands in for an Arm CPU with SME2: where it is, whether it is new enough, how it is started."""

import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from etprof.core.errors import DependencyError, DeviceError
from etprof.core.run import DeviceInfo
from etprof.devices.description import ReadFeatures

PROGRAM = "qemu-aarch64"
MINIMUM_VERSION = (10, 1)
# The vector length is QEMU's default, spelled out so that it can be reported.
SME_VECTOR_BITS = 256
CPU_OPTIONS = ("-cpu", f"max,sme-default-vector-length={SME_VECTOR_BITS // 8}")
_HINT = "Install QEMU 10.1 or newer. On Debian, `scripts/get_emulator` in a clone installs one for your user only."
_VERSION = re.compile(r"version (\d+)\.(\d+)")
_AUXV = re.compile(r"^auxv\[\w+\]\.a_type=(0x\w+)\s+auxv\[\w+\]\.a_val=(0x\w+)", re.M)


@dataclass(frozen=True)
class Emulator:
    path: str
    version: tuple[int, int]

    @property
    def command(self) -> tuple[str, ...]:
        return (self.path, *CPU_OPTIONS)

    @property
    def description(self) -> str:
        return f"QEMU {self.version[0]}.{self.version[1]}"


def find_emulator(kept: Path, named: str = "") -> Emulator:
    """The one named, else the one on PATH, else the one scripts/get_emulator put into the folder `kept`."""
    places = [named] if named else [shutil.which(PROGRAM) or "", str(kept / PROGRAM)]
    found = [Emulator(place, _read_version(place)) for place in places if place and Path(place).is_file()]
    if not found:
        raise DependencyError(f"There is no {named or PROGRAM}.", hint=_HINT)
    best = max(found, key=lambda emulator: emulator.version)
    if best.version < MINIMUM_VERSION:
        raise DependencyError(f"{best.path} is {best.description}, which does not emulate SME2.", hint=_HINT)
    return best


def parse_version(said: str) -> tuple[int, int]:
    found = _VERSION.search(said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def parse_auxiliary_vector(diagnostics: str) -> dict[int, int]:
    """Entry to value, from what the GNU loader prints with `--list-diagnostics`."""
    entries = {int(entry, 16): int(value, 16) for entry, value in _AUXV.findall(diagnostics)}
    if not entries:
        raise DeviceError(
            "The emulator did not report the features of its CPU.", hint="Install QEMU 10.1 or newer again."
        )
    return entries


def as_emulated(host: DeviceInfo, emulator: Emulator, diagnostics: str, read_features: ReadFeatures) -> DeviceInfo:
    """The device that an emulator on a host makes of it; `diagnostics` are the words of the loader inside."""
    return replace(
        host,
        architecture="arm64",
        cpu_model=f"{emulator.description}, CPU max, on {host.cpu_model}",
        features=read_features("arm64", "", parse_auxiliary_vector(diagnostics)),
        sme_vector_bits=SME_VECTOR_BITS,
        times_are_real=False,
    )


def _read_version(program: str) -> tuple[int, int]:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except OSError as error:
        raise DependencyError(f"{program} cannot be started: {error.strerror}.", hint=_HINT) from error
    return parse_version(said)
