"""Android's `settings` and `cmd` on a device that is none: values are files, and what was never set is "null"."""

import os
from pathlib import Path

import pytest

from sshd import Sshd

_SETTINGS = """#!/bin/sh
file="{folder}/values/$3"
case $1 in
  get) cat "$file" 2>/dev/null || echo null ;;
  put) echo "$4" > "$file" ;;
  delete) rm "$file" ;;
esac
"""
_CMD = '#!/bin/sh\n[ "$1 $2" = "power set-fixed-performance-mode-enabled" ] && echo "$3" > "{folder}/values/fixed"\n'

AT_FIRST = {"low_power": "1"}
PREPARED = {"low_power": "0", "stay_on_while_plugged_in": "7", "fixed": "true"}
# Whether fixed performance mode was on cannot be asked.
RESTORED = {"low_power": "1", "fixed": "false"}


def settings_over_ssh(sshd: Sshd, folder: Path) -> Path:
    """Puts both commands on the PATH of a server; returns the folder of the values they set."""
    programs = _write_programs(folder)
    configuration = sshd.folder / "sshd_config"
    # The server takes one line of them.
    text = configuration.read_text().replace("SetEnv ", f"SetEnv PATH={programs}:/usr/bin:/bin ")
    configuration.write_text(text)
    sshd.stop()
    sshd.start()
    return folder / "values"


def settings_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The same on the PATH of what is started from now on, such as an adbd."""
    monkeypatch.setenv("PATH", f"{_write_programs(folder)}{os.pathsep}{os.environ['PATH']}")
    return folder / "values"


def read(values: Path) -> dict[str, str]:
    return {path.name: path.read_text().strip() for path in values.iterdir()}


def _write_programs(folder: Path) -> Path:
    programs = folder / "bin"
    for each in (programs, folder / "values"):
        each.mkdir()
    for name, value in AT_FIRST.items():
        (folder / "values" / name).write_text(f"{value}\n")
    for name, text in (("settings", _SETTINGS), ("cmd", _CMD)):
        (programs / name).write_text(text.format(folder=folder))
        (programs / name).chmod(0o755)
    return programs
