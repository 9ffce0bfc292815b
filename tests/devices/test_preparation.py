"""Settings for the time of a run: made on a real shell, and restored whatever happens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from etprof.devices.preparation import prepared
from etprof.devices.shell import RemoteShell, run_script
from etprof.devices.ssh import open_shell
from sshd import HOST, Sshd

# A real daemon for every test.
pytestmark = pytest.mark.alone

# Android's `settings` as far as it matters here: values in files, "null" for what was never set.
_SETTINGS = """#!/bin/sh
file="{folder}/values/$3"
case $1 in
  get) cat "$file" 2>/dev/null || echo null ;;
  put) echo "$4" > "$file" ;;
  delete) rm "$file" ;;
esac
"""
_CMD = '#!/bin/sh\n[ "$1 $2" = "power set-fixed-performance-mode-enabled" ] && echo "$3" > "{folder}/values/fixed"\n'


@pytest.fixture
def values(sshd: Sshd, tmp_path: Path) -> Path:
    """A device with Android's two commands on its PATH; returns the folder of the values they set."""
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "low_power").write_text("1\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("settings", _SETTINGS), ("cmd", _CMD)):
        (programs / name).write_text(text.format(folder=tmp_path))
        (programs / name).chmod(0o755)
    configuration = sshd.folder / "sshd_config"
    configuration.write_text(f"{configuration.read_text()}SetEnv PATH={programs}:/usr/bin:/bin\n")
    sshd.stop()
    sshd.start()
    return tmp_path / "values"


@pytest.fixture
def shell(values: Path) -> Iterator[RemoteShell]:
    opened = open_shell(HOST)
    yield opened
    opened.close()


def read(values: Path) -> dict[str, str]:
    return {path.name: path.read_text().strip() for path in values.iterdir()}


def test_settings_are_made_reported_and_restored(shell: RemoteShell, values: Path) -> None:
    with prepared(shell, True, print) as settings:
        assert read(values) == {"low_power": "0", "stay_on_while_plugged_in": "7", "fixed": "true"}
        assert "--prepare set battery saver to 0 (was 1)." in settings.notes
        assert settings.held == ("stay awake: 7", "battery saver: 0", "fixed performance mode: true")
    with prepared(shell, True, print) as again:
        assert again.held == settings.held
    assert read(values) == {"low_power": "1", "fixed": "false"}


def test_settings_are_restored_after_control_c(shell: RemoteShell, values: Path) -> None:
    with pytest.raises(KeyboardInterrupt), prepared(shell, True, print):
        raise KeyboardInterrupt
    assert read(values) == {"low_power": "1", "fixed": "false"}


def test_nothing_is_touched_unless_asked_for(shell: RemoteShell, values: Path) -> None:
    with prepared(shell, False, print) as settings:
        assert (settings.notes, settings.held) == ((), ())
        assert read(values) == {"low_power": "1"}


def test_a_device_lost_before_the_end_is_followed_by_what_to_restore_by_hand(
    shell: RemoteShell, values: Path, sshd: Sshd
) -> None:
    said = list[str]()
    with prepared(shell, True, said.append):
        sshd.stop()
    assert any("restore it by hand: settings put global low_power 1" in line for line in said)


def test_what_cannot_be_set_is_said_and_left_out(shell: RemoteShell, values: Path) -> None:
    (values / "low_power").unlink()
    (values / "low_power").mkdir()
    said = list[str]()
    with prepared(shell, True, said.append) as settings:
        assert not any("battery saver" in note for note in settings.notes)
    assert any(line.startswith("--prepare: battery saver could not be set") for line in said)
    assert run_script(shell, "true").exit_code == 0
