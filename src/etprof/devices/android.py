"""Android devices through the adb client; the serial is always named."""

import shutil
import subprocess
from dataclasses import dataclass, replace

from etprof.core.errors import DependencyError, DeviceError, EtprofError, UsageError
from etprof.devices.remote_kind import build_remote_kind
from etprof.devices.shell import ConnectionLostError

_FOLDER = "/data/local/tmp"
_TIMEOUT_S = 30.0
_READY = "device"
_ACCEPT = "Unlock the device and accept this computer's key, then try again."
_REMEDIES = {
    "unauthorized": _ACCEPT,
    "authorizing": _ACCEPT,
    "offline": "Plug the device in again, or restart the daemon: adb kill-server.",
    "no permissions": "Give your user access to the USB device (udev rules), then: adb kill-server.",
    "recovery": "Boot the device into Android.",
}


@dataclass(frozen=True)
class Attached:
    """A line of `adb devices`."""

    serial: str
    state: str
    model: str = ""

    def __str__(self) -> str:
        return f"{self.serial} ({', '.join(part for part in (self.model, self.state) if part)})"


@dataclass(frozen=True)
class AdbShell:
    serial: str

    @property
    def name(self) -> str:
        return f"android:{self.serial}"

    def command(self, script: str) -> list[str]:
        # -T: no terminal, so that bytes arrive as they are.
        return [_adb(), "-s", self.serial, "shell", "-T", script]

    def explain(self, said: str) -> DeviceError:
        for state, remedy in _REMEDIES.items():
            if state in said and state != "offline":
                return DeviceError(f"The Android device {self.serial} is {state}.", hint=remedy)
        return ConnectionLostError(
            f"The Android device {self.serial} is gone, or its shell was killed{_quoted(said)}.",
            hint="Check the cable and `adb devices`; a run that was interrupted continues with --resume.",
        )

    def reconnect(self) -> bool:
        if self._is_ready():
            return True
        if is_network_serial(self.serial):
            # The server calls a dead connection "already connected" for ever.
            _run_adb("disconnect", self.serial)
            _run_adb("connect", self.serial)
        return self._is_ready()

    def _is_ready(self) -> bool:
        return _run_adb("-s", self.serial, "get-state").stdout.strip() == _READY

    def close(self) -> None:
        """The adb server is the user's: it stays."""


def open_shell(serial: str = "") -> AdbShell:
    """The device with this serial, or the only one attached; HOST:PORT is connected to first if needed."""
    if is_network_serial(serial) and Attached(serial, _READY) not in [replace(d, model="") for d in list_attached()]:
        _run_adb("disconnect", serial)
        said = _run_adb("connect", serial).stdout.strip()
        if serial not in {d.serial for d in list_attached()}:
            raise DeviceError(
                f"No Android device answers at {serial}: {said or 'adb gave no reason'}.",
                hint="Switch on wireless debugging, or `adb tcpip 5555` while it is plugged in, and check the address.",
            )
    chosen = _choose(list_attached(), serial)
    if chosen.state != _READY:
        remedy = next((text for state, text in _REMEDIES.items() if state in chosen.state), "See `adb devices`.")
        raise DeviceError(f"The Android device {chosen.serial} is {chosen.state}.", hint=remedy)
    return AdbShell(chosen.serial)


def list_attached() -> list[Attached]:
    done = _run_adb("devices", "-l")
    if done.returncode != 0:
        raise DeviceError(f"adb does not work: {_last_line(done.stderr)}.", hint="Restart its server: adb kill-server.")
    return parse_attached(done.stdout)


def parse_attached(listing: str) -> list[Attached]:
    devices = []
    for line in listing.partition("List of devices attached")[2].splitlines():
        serial, _, rest = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
        words = rest.split()
        if serial and words:
            state = "no permissions" if words[:2] == ["no", "permissions"] else words[0]
            model = next((w.removeprefix("model:") for w in words if w.startswith("model:")), "")
            devices.append(Attached(serial, state, model))
    return devices


def is_network_serial(serial: str) -> bool:
    return ":" in serial


def _choose(attached: list[Attached], serial: str) -> Attached:
    listed = ", ".join(str(d) for d in attached)
    if serial:
        for device in attached:
            if device.serial == serial:
                return device
        raise DeviceError(
            f"There is no Android device {serial}.", hint=f"Attached: {listed}." if listed else "None is attached."
        )
    if not attached:
        raise DeviceError(
            "No Android device is attached.",
            hint="Plug one in with USB debugging switched on, or name one on the network: android:HOST:PORT.",
        )
    if len(attached) > 1:
        raise UsageError(
            f"Several Android devices are attached: {listed}.",
            hint="Name one: --device android:SERIAL, or `etprof quickstart --platform android --remote-device SERIAL`.",
        )
    return attached[0]


def _adb() -> str:
    program = shutil.which("adb")
    if program is None:
        raise DependencyError("adb is not installed.", hint="Install platform-tools (Debian: apt-get install adb).")
    return program


def _run_adb(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [_adb(), *arguments]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise DeviceError(
            f"adb {arguments[0]} timed out after {_TIMEOUT_S:.0f} s.", hint="Restart its server: adb kill-server."
        ) from error


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].rstrip(".") if lines else "no reason given"


def _quoted(said: str) -> str:
    return f" (adb: {_last_line(said)})" if said.strip() else ""


def _find() -> list[str]:
    """The serial of each device; "" where there is none or no adb, so that a list of devices shows why."""
    try:
        return [device.serial for device in list_attached()] or [""]
    except EtprofError:
        return [""]


KIND = build_remote_kind(open_shell, folder=_FOLDER, platform="android", find=_find)
