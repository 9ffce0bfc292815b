"""Finding the Android device: a real adb client and daemon, and every way in which there is none."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from adbd import SERIAL, AdbDevice
from etprof.cli.main import main
from etprof.core.errors import DependencyError, DeviceError, UsageError
from etprof.devices.android import AdbShell, Attached, list_attached, open_shell, parse_attached
from etprof.devices.shell import ConnectionLostError, run_script
from namespace import enter


def test_without_adb_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyError, match="adb is not installed") as raised:
        open_shell()
    assert "apt-get install adb" in raised.value.hint


def test_the_only_device_needs_no_name(adbd: AdbDevice) -> None:
    assert open_shell() == AdbShell(SERIAL)
    assert run_script(open_shell(), "echo $((40 + 2))").text.strip() == "42"


def test_of_two_devices_one_must_be_named(adbd: AdbDevice) -> None:
    adbd.adb("connect", "localhost:5555")
    with pytest.raises(UsageError, match="Several Android devices are attached") as raised:
        open_shell()
    assert SERIAL in raised.value.message
    assert "localhost:5555" in raised.value.message
    assert open_shell("localhost:5555") == AdbShell("localhost:5555")


def test_no_device_at_all(adbd: AdbDevice) -> None:
    adbd.stop()
    adbd.adb("disconnect", SERIAL)
    assert list_attached() == []
    with pytest.raises(DeviceError, match="No Android device is attached"):
        open_shell()
    with pytest.raises(DeviceError, match=r"No Android device answers at 127\.0\.0\.1:5555: .*refused"):
        open_shell(SERIAL)
    with pytest.raises(DeviceError, match="There is no Android device R5CT"):
        open_shell("R5CT")


def test_an_offline_device_says_so_and_what_helps(adbd: AdbDevice) -> None:
    adbd.stop()
    with pytest.raises(DeviceError, match=f"The Android device {SERIAL} is offline") as raised:
        open_shell()
    assert "Plug the device in again" in raised.value.hint
    with pytest.raises(ConnectionLostError, match="is gone"):
        run_script(AdbShell(SERIAL), "true")


def test_states_and_models_are_read_from_adbs_list() -> None:
    listing = (
        "* daemon started successfully\nList of devices attached\n"
        "R5CT30ABCDE            device usb:1-4 product:e1q model:SM_S921B device:e1q transport_id:3\n"
        "0123456789ABCDEF       unauthorized usb:1-2 transport_id:4\n"
        "????????????           no permissions (missing udev rules? user is in the plugdev group) usb:1-3\n\n"
    )
    assert parse_attached(listing) == [
        Attached("R5CT30ABCDE", "device", "SM_S921B"),
        Attached("0123456789ABCDEF", "unauthorized"),
        Attached("????????????", "no permissions"),
    ]


def test_an_unauthorised_device_is_not_waited_for() -> None:
    error = AdbShell("X").explain("error: device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set")
    assert not isinstance(error, ConnectionLostError)
    assert "accept this computer's key" in error.hint


@pytest.mark.usefixtures("adbd")
def test_etprof_devices_describes_what_is_attached(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "list"]) == 0
    said = capsys.readouterr().out
    assert f"android:{SERIAL}\n" in said
    assert "features:" in said
    assert main(["devices", "show", "android:nowhere"]) == 1
    assert "There is no Android device nowhere." in capsys.readouterr().out


def test_a_device_whose_owner_has_not_accepted_the_key_is_called_unauthorised(adbd: AdbDevice) -> None:
    # The adb server is real; Debian's adbd lets everybody in, so that the device's refusal is played.
    serial = "127.0.0.1:5599"
    stubborn = Path(__file__).parents[1] / "stubborn_adbd.py"
    with subprocess.Popen([*enter(adbd.server.pid), sys.executable, str(stubborn), "5599"]) as device:
        try:
            deadline = time.monotonic() + 20
            while "unauthorized" not in adbd.adb("devices") and time.monotonic() < deadline:
                adbd.adb("connect", serial)
                time.sleep(0.1)
            with pytest.raises(
                DeviceError, match=f"The Android device {serial} is (unauthorized|authorizing)"
            ) as raised:
                open_shell(serial)
            assert "accept this computer's key" in raised.value.hint
            with pytest.raises(DeviceError, match=r"is (unauthorized|authorizing)") as raised:
                run_script(AdbShell(serial), "true")
            assert not isinstance(raised.value, ConnectionLostError)
        finally:
            device.kill()
