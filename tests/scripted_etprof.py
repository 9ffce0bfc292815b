"""The command line of etprof as a process of its own, with the scripted runner for a device; it can be killed.

Usage: python scripted_etprof.py <the command line of etprof>
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from adbd import SERIAL
from etprof.core.plan import Plan
from etprof.core.run import Job
from etprof.devices import DEVICES, android, ssh
from etprof.devices.kind import DeviceKind, DeviceParts, DeviceRequest, OpenDevice
from etprof.devices.local import CommandFor
from etprof.devices.shell import RemoteShell
from etprof.store.plan_file import save_plan
from local_shell import LocalShell, UnreliableShell
from scripted_device import a_runnable_plan, scripted_device
from scripted_remote import scripted_remote
from sshd import HOST

TALLY = "tally"
_CLOSING_S = 0.5
_PATIENCE_S = 5.0
_BEHAVIOURS = (*["well"] * 8, "crash", "refuse", "garbage", "truncated trace", "short trace", "empty trace", "hang")


@contextmanager
def _open(request: DeviceRequest, _parts: DeviceParts) -> Iterator[OpenDevice]:
    """What a place begins with decides:

    `closing:FILE` takes a while to be closed, and then makes that file. `flaky` has a runner that fails now and then.
    `ssh:DIR` and `android:DIR` are real; `shell:DIR` is this machine's shell, `unreliable:DIR` one that fails now and
    then.
    """
    kind, _, place = request.place.partition(":")
    if kind in _SHELLS:
        with scripted_remote(_SHELLS[kind](place), Path(place), patience_s=_PATIENCE_S) as remote:
            yield OpenDevice(remote)
        return
    device = scripted_device()
    try:
        yield OpenDevice(replace(device, command_for=_flaky(device.command_for)) if kind == "flaky" else device)
    finally:
        if kind == "closing":
            time.sleep(_CLOSING_S)
            Path(place).touch()


_SHELLS: dict[str, Callable[[str], RemoteShell]] = {
    "ssh": lambda _: ssh.open_shell(HOST),
    "android": lambda _: android.open_shell(SERIAL),
    "shell": lambda _: LocalShell(),
    "unreliable": lambda place: UnreliableShell(tally=Path(place) / TALLY),
}


def _flaky(command_for: CommandFor) -> CommandFor:
    def choose(job: Job) -> list[str]:
        return [*command_for(job), "--behave", random.choice(_BEHAVIOURS)]

    return choose


class ScriptedKind(ModuleType):
    KIND = DeviceKind(_open, lambda _request, _parts: scripted_device().info)


def start_etprof(*arguments: str | Path, launcher: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*launcher, sys.executable, __file__, *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def write_runnable_plan(folder: Path, **behaviour: str | int) -> tuple[Plan, Path]:
    """`a_runnable_plan`, and the file that it was saved to."""
    plan = a_runnable_plan(folder, **behaviour)  # type: ignore[arg-type]
    save_plan(folder / "plan.json", plan)
    return plan, folder / "plan.json"


def find_processes(folder: Path) -> list[int]:
    """Those that name something in a folder in their command line, or run in it, except for this process."""
    return [pid for pid in _list_processes() if _belongs_to(pid, os.fsencode(folder))]


def _belongs_to(pid: int, folder: bytes) -> bool:
    process = Path("/proc") / str(pid)
    try:
        return folder in (process / "cmdline").read_bytes() or os.fsencode((process / "cwd").readlink()).startswith(
            folder
        )
    except OSError:
        # It has ended meanwhile.
        return False


def _list_processes() -> list[int]:
    return [
        int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and entry.name != str(os.getpid())
    ]


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited for {timeout_s:g} s: {what}"
        time.sleep(0.01)


if __name__ == "__main__":
    from etprof.cli.main import main

    sys.modules["etprof.devices.scripted"] = ScriptedKind("etprof.devices.scripted")
    DEVICES["scripted"] = "scripted"
    raise SystemExit(main())
