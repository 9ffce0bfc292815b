"""Settings that keep a device awake and its speed steady for the time of a run, and that are restored afterwards."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from etprof.core.errors import DeviceError
from etprof.devices.keeper import Keeper
from etprof.devices.shell import Progress, RemoteShell, run_script

# Whether fixed performance mode is on cannot be queried, so it is switched off afterwards.
_FIXED_PERFORMANCE = "fixed performance mode"


@dataclass(frozen=True)
class Setting:
    """A value on the device: how it is read, and how it is set. `{}` is the value."""

    name: str
    ask: str
    change: str
    wanted: str


@dataclass(frozen=True)
class Prepared:
    """What holds on the device for the time of a run, whoever set it, and notes for the report on what was changed."""

    held: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_ANDROID = (
    Setting(
        "stay awake",
        "settings get global stay_on_while_plugged_in",
        "settings put global stay_on_while_plugged_in {}",
        "7",
    ),
    Setting("battery saver", "settings get global low_power", "settings put global low_power {}", "0"),
    Setting(_FIXED_PERFORMANCE, "echo false", "cmd power set-fixed-performance-mode-enabled {}", "true"),
)
_GOVERNORS = "ls /sys/devices/system/cpu/cpufreq/policy*/scaling_governor 2>/dev/null"
_PROFILE = "/sys/firmware/acpi/platform_profile"


@contextmanager
def prepared(keeper: Keeper, wanted: bool, progress: Progress) -> Iterator[Prepared]:
    """Restores everything that it changed, also after an error or Ctrl-C; where we are killed, the keeper does."""
    if not wanted:
        yield Prepared()
        return
    try:
        yield prepare(keeper, progress)
    finally:
        _restore(keeper, progress)


def prepare(keeper: Keeper, progress: Progress) -> Prepared:
    """Makes the settings; before each change the keeper on the device learns how to undo it."""
    held, notes = list[str](), list[str]()
    for setting in _list_settings(keeper.shell):
        before = run_script(keeper.shell, setting.ask).text.strip()
        if before != setting.wanted:
            keeper.remember(_build_undo(setting, before))
            done = run_script(keeper.shell, setting.change.format(shlex.quote(setting.wanted)))
            if done.exit_code:
                keeper.forget()
                progress(f"--prepare: {setting.name} could not be set: {done.errors.strip() or done.text.strip()}")
                continue
            notes.append(f"--prepare set {setting.name} to {setting.wanted} (was {before}).")
        held.append(f"{setting.name}: {setting.wanted}")
    return Prepared(tuple(held), tuple(notes))


def _list_settings(shell: RemoteShell) -> list[Setting]:
    has_android = run_script(shell, "command -v settings >/dev/null && command -v cmd >/dev/null").exit_code == 0
    files = [(path, "performance") for path in run_script(shell, _GOVERNORS).text.split()]
    if run_script(shell, f"grep -qw performance {_PROFILE}_choices 2>/dev/null").exit_code == 0:
        files.append((_PROFILE, "performance"))
    return [
        *(_ANDROID if has_android else ()),
        *(Setting(path, f"cat {path}", f"echo {{}} > {path}", wanted) for path, wanted in files),
    ]


def _build_undo(setting: Setting, before: str) -> str:
    if before == "null":
        # What Android says of a setting that was never made.
        return setting.change.replace(" put ", " delete ").replace(" {}", "")
    # The keeper takes one line; a value of several is none that was ever set.
    return setting.change.format(shlex.quote(" ".join(before.split())))


def _restore(keeper: Keeper, progress: Progress) -> None:
    undos = keeper.undos
    try:
        for undo in keeper.restore():
            progress(f"A setting of {keeper.shell.name} could not be restored; restore it by hand: {undo}")
    except DeviceError:
        for undo in undos:
            progress(f"{keeper.shell.name} is gone and restores itself; if it does not, restore it by hand: {undo}")
