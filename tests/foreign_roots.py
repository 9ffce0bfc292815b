"""Roots of other systems, made of Debian's packages: how they are found, and how a program is started in one."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from etprof.core.errors import DeviceError
from etprof.devices.shell import ConnectionLostError
from etprof.runner.build import cache_dir
from parts import need

ROOT = Path(__file__).parents[1]
_ENTER = ROOT / "scripts" / "enter_root"


def find_root(name: str) -> Path:
    """One of those that scripts/get_parts brings."""
    root = cache_dir() / "roots" / name
    need((root.parent / f"{name}.made-of").is_file(), f"there is no {root}; scripts/get_parts brings it")
    need(can_enter(), "this system gives no user and mount namespaces")
    return root


def can_enter() -> bool:
    if not shutil.which("unshare"):
        return False
    command = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    return subprocess.run(command, capture_output=True, timeout=30).returncode == 0


def enter(root: Path, *command: str, emulator: str = "", mounts: str = "", cpu: str = "max") -> list[str]:
    """What starts a command in a root; `mounts` are shell commands that mount more below "$root"."""
    return [
        "env",
        *([f"QEMU={emulator}"] if emulator else []),
        f"QEMU_CPU={cpu}",
        str(_ENTER),
        "-m",
        mounts or ":",
        str(root),
        *command,
    ]


@dataclass(frozen=True)
class RootShell:
    """A shell in a root, in the place of one on a device."""

    root: Path
    emulator: str = ""
    name: str = "a root"

    def command(self, script: str) -> list[str]:
        # What is in the caller's environment is of no use there.
        shell = ("/bin/sh", "-c", 'export PATH=/usr/sbin:/usr/bin:/sbin:/bin; eval "$1"', "sh", script)
        return enter(self.root, *shell, emulator=self.emulator, cpu="max")

    def explain(self, said: str) -> DeviceError:
        return ConnectionLostError(f"{self.name} is gone ({said.strip()}).")

    def reconnect(self) -> bool:
        return False

    def close(self) -> None:
        """There is no connection to close."""
