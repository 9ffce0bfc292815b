"""Settings for the time of a run: made on a real shell, and restored whatever happens."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from android_settings import read, settings_over_ssh
from etprof.devices.keeper import Keeper
from etprof.devices.preparation import prepared
from etprof.devices.shell import run_script
from etprof.devices.ssh import open_shell
from sshd import HOST, Sshd

# A real daemon for every test.


@pytest.fixture
def values(sshd: Sshd, tmp_path: Path) -> Path:
    return settings_over_ssh(sshd, tmp_path)


@pytest.fixture
def keeper(values: Path) -> Iterator[Keeper]:
    with closing(open_shell(HOST)) as shell, closing(Keeper(shell, print)) as opened:
        opened.start(wait=False)
        yield opened


def test_settings_are_made_reported_and_restored(keeper: Keeper, values: Path) -> None:
    with prepared(keeper, True, print) as settings:
        assert read(values) == {"low_power": "0", "stay_on_while_plugged_in": "7", "fixed": "true"}
        assert "--prepare set battery saver to 0 (was 1)." in settings.notes
        assert settings.held == ("stay awake: 7", "battery saver: 0", "fixed performance mode: true")
    with prepared(keeper, True, print) as again:
        assert again.held == settings.held
    assert read(values) == {"low_power": "1", "fixed": "false"}


def test_settings_are_restored_after_control_c(keeper: Keeper, values: Path) -> None:
    with pytest.raises(KeyboardInterrupt), prepared(keeper, True, print):
        raise KeyboardInterrupt
    assert read(values) == {"low_power": "1", "fixed": "false"}


def test_nothing_is_touched_unless_asked_for(keeper: Keeper, values: Path) -> None:
    with prepared(keeper, False, print) as settings:
        assert (settings.notes, settings.held) == ((), ())
        assert read(values) == {"low_power": "1"}


def test_a_device_lost_before_the_end_is_followed_by_what_to_restore_by_hand(
    keeper: Keeper, values: Path, sshd: Sshd
) -> None:
    said = list[str]()
    with prepared(keeper, True, said.append):
        sshd.stop()
    assert any("restore it by hand: settings put global low_power 1" in line for line in said)


def test_what_cannot_be_set_is_said_and_left_out(keeper: Keeper, values: Path) -> None:
    (values / "low_power").unlink()
    (values / "low_power").mkdir()
    said = list[str]()
    with prepared(keeper, True, said.append) as settings:
        assert not any("battery saver" in note for note in settings.notes)
    assert any(line.startswith("--prepare: battery saver could not be set") for line in said)
    assert run_script(keeper.shell, "true").exit_code == 0
