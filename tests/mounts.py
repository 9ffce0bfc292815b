"""File systems of the tests' own: small ones, and ones where nothing may be executed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from parts import need


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """An empty file system in a folder, with the options of `mount`, such as `size=4m`."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
    need(done.returncode == 0, "this user may not mount")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
