"""Network namespaces of the tests' own, where daemons may bind any address and links may be slow."""

import os
import shutil
import subprocess


def unshare() -> list[str]:
    """What starts a program in a new one."""
    return ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]


def enter(pid: int) -> list[str]:
    """What starts a program in the one of a process."""
    options = ["--net"] if os.geteuid() == 0 else ["--net", "--user", "--preserve-credentials"]
    return ["nsenter", "--target", str(pid), *options, "--"]


def can_have_namespaces() -> bool:
    if not shutil.which("unshare") or not shutil.which("nsenter") or not shutil.which("ip"):
        return False
    return subprocess.run([*unshare(), "true"], capture_output=True, timeout=30).returncode == 0
