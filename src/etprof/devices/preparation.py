"""Settings that keep a device awake and its speed steady for the time of a run, and that are restored afterwards."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from etprof.core.errors import DeviceError
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
def prepared(shell: RemoteShell, wanted: bool, progress: Progress) -> Iterator[Prepared]:
    """Restores everything that it changed, also after an error or Ctrl-C."""
    changed: list[tuple[Setting, str]] = []
    held: list[str] = []
    try:
        for setting in _list_settings(shell) if wanted else ():
            before = run_script(shell, setting.ask).text.strip()
            if before == setting.wanted:
                held.append(f"{setting.name}: {setting.wanted}")
                continue
            done = run_script(shell, setting.change.format(shlex.quote(setting.wanted)))
            if done.exit_code:
                progress(f"--prepare: {setting.name} could not be set: {done.errors.strip() or done.text.strip()}")
                continue
            changed.append((setting, before))
            held.append(f"{setting.name}: {setting.wanted}")
        notes = (f"--prepare set {setting.name} to {setting.wanted} (was {before})." for setting, before in changed)
        yield Prepared(tuple(held), tuple(notes))
    finally:
        for setting, before in reversed(changed):
            _restore(shell, setting, before, progress)


def _list_settings(shell: RemoteShell) -> list[Setting]:
    has_android = run_script(shell, "command -v settings >/dev/null && command -v cmd >/dev/null").exit_code == 0
    files = [(path, "performance") for path in run_script(shell, _GOVERNORS).text.split()]
    if run_script(shell, f"grep -qw performance {_PROFILE}_choices 2>/dev/null").exit_code == 0:
        files.append((_PROFILE, "performance"))
    return [
        *(_ANDROID if has_android else ()),
        *(Setting(path, f"cat {path}", f"echo {{}} > {path}", wanted) for path, wanted in files),
    ]


def _restore(shell: RemoteShell, setting: Setting, before: str, progress: Progress) -> None:
    undo = setting.change.format(shlex.quote(before))
    if before == "null":
        # What Android says of a setting that was never made.
        undo = setting.change.replace(" put ", " delete ").replace(" {}", "")
    try:
        failed = run_script(shell, undo).exit_code != 0
    except DeviceError:
        failed = True
    if failed:
        progress(f"{setting.name} could not be restored to {before} on {shell.name}; restore it by hand: {undo}")
