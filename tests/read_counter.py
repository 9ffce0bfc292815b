"""Counts the files that a command opens for reading, by an audit hook in a process of the command's own.

Usage: python read_counter.py FOLDER COUNTS.json [--times N] ARGUMENTS...
       Runs `etprof ARGUMENTS...`, in which `--device scripted` is this machine with the scripted runner, and writes how
       often it opened each file below the folder. ARGUMENTS may also be `mcp analyze RUN_DIR`, what an assistant asks.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

from etprof.cli.main import main as run_etprof
from etprof.devices import DEVICES
from etprof.devices.kind import DeviceKind, OpenDevice
from etprof.mcp.answers import analyze_run, open_workspace
from scripted_device import scripted_device


def count_reads(folder: Path, *arguments: str, times: int = 1) -> dict[str, int]:
    """How often a command that succeeds reads each file, by its path from the folder."""
    counts = folder / "counts.json"
    done = subprocess.run(
        [sys.executable, __file__, str(folder), str(counts), "--times", str(times), *arguments],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, int] = json.loads(counts.read_text())
    counts.unlink()
    return found


def main() -> int:
    folder, counts = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    times, arguments = int(sys.argv[4]), sys.argv[5:]
    _add_scripted_device()
    opened: list[tuple[str, str | None, int]] = []
    sys.addaudithook(lambda event, details: opened.append(details[:3]) if event == "open" else None)
    codes = [_run(folder, arguments) for _ in range(times)]
    found = Counter(
        Path(path).resolve().relative_to(folder).as_posix()
        for path, mode, flags in opened
        if isinstance(path, (str, os.PathLike))
        and _is_read(mode, flags)
        and Path(path).resolve().is_relative_to(folder)
    )
    counts.write_text(json.dumps(found))
    return max(codes)


def _run(folder: Path, arguments: list[str]) -> int:
    if arguments[:2] == ["mcp", "analyze"]:
        return 0 if analyze_run(open_workspace(folder), arguments[2]).variants else 1
    return run_etprof(arguments)


def _is_read(mode: str | None, flags: int) -> bool:
    # os.open, which has no mode, is how files are copied in the kernel: it counts too, unless it is for a folder's or a
    # file's way to the disk.
    if mode is None:
        return flags & os.O_ACCMODE != os.O_WRONLY and not flags & os.O_DIRECTORY
    return "r" in mode


def _add_scripted_device() -> None:
    module = ModuleType("etprof.devices.scripted")
    info = scripted_device().describe()
    module.__dict__["KIND"] = DeviceKind(
        lambda _request, _parts: nullcontext(OpenDevice(scripted_device())), lambda _request, _parts: info
    )
    sys.modules[module.__name__] = module
    DEVICES["scripted"] = "scripted"


if __name__ == "__main__":
    raise SystemExit(main())
