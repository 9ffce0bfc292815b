"""What macOS says of itself through `sysctl` and `notifyutil`: asked there, and read as text anywhere."""

import subprocess
import sys
from pathlib import Path

_SYSCTL = Path("/usr/sbin/sysctl")
_NOTIFYUTIL = Path("/usr/bin/notifyutil")
_TIMEOUT_S = 10.0
_PRESSURE = "com.apple.system.thermalpressurelevel"


def is_macos() -> bool:
    return sys.platform == "darwin"


def read_sysctls(*names: str) -> dict[str, str]:
    """The values of these names and of all below them; a name that this macOS does not know is left out."""
    return parse_sysctls(_ask(_SYSCTL, *names))


def parse_sysctls(said: str) -> dict[str, str]:
    """Of lines such as `hw.perflevel0.physicalcpu: 4`."""
    pairs = (line.partition(":") for line in said.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def read_thermal_pressure() -> int | None:
    """0 nominal, 1 moderate, 2 heavy, 3 trapping, 4 sleeping; None where the system does not tell."""
    return parse_thermal_pressure(_ask(_NOTIFYUTIL, "-g", _PRESSURE)) if is_macos() else None


def parse_thermal_pressure(said: str) -> int | None:
    """Of the line `com.apple.system.thermalpressurelevel 0`."""
    words = said.split()
    return int(words[1]) if len(words) == 2 and words[0] == _PRESSURE and words[1].isdecimal() else None


def _ask(program: Path, *arguments: str) -> str:
    """What it prints, also where it does not know all that it is asked for; nothing where there is no such program."""
    if not program.is_file():
        return ""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    return done.stdout
