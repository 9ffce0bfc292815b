"""Calibrating a device: a profile that names nobody, and forecasts from one level to the other."""

import getpass
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from etprof.app.calibrating import calibrate, find_profile
from etprof.app.devices import open_device, parse_device
from etprof.core.device_profile import PROBES
from etprof.core.errors import DeviceError
from etprof.core.extensions import best_extension
from etprof.export.probes import ProbeProgram
from etprof.runner.toolchain import compiler_path
from etprof.store.profile_file import load_profile, save_profile
from parts import need
from scripted_kind import add_scripted_kind


def test_an_emulated_device_is_refused_before_anything_is_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    name = add_scripted_kind(monkeypatch)
    with pytest.raises(DeviceError, match="is emulated: its times are not meaningful"):
        calibrate(parse_device(f"{name}:emulated"))


@pytest.mark.alone
@pytest.mark.exhaustive
def test_this_machine_is_calibrated_with_its_extension_shown_and_hidden(libraries: None, tmp_path: Path) -> None:
    need(compiler_path(), "no C++ compiler is installed")
    heard: list[str] = []
    request = replace(parse_device("local"), progress=heard.append)
    profile = calibrate(request, programs=[ProbeProgram("single", "fp32")], budget_s=10.0)
    assert any(text.startswith("program 1 of 1: fp32/single") for text in heard)
    assert (profile.probes, profile.threads) == (PROBES, 1)
    device = profile.device
    assert [level.hide_isa for level in profile.levels] == [
        (), best_extension(device.architecture, device.features).hide_isa,
    ]  # fmt: skip
    assert set(profile.levels[1].features_hidden) <= set(device.features)
    groups = {operator.group for operator in profile.operators}
    assert {"compute", "elementwise", "softmax", "portable"} <= groups
    assert len(profile.operators) > 60
    save_profile(tmp_path / "profile.json", profile)
    assert load_profile(tmp_path / "profile.json") == profile
    text = (tmp_path / "profile.json").read_text(encoding="utf-8")
    for name in {platform.node(), getpass.getuser(), str(Path.home())} - {"root", "localhost", "/root"}:
        assert name not in text
    with open_device(request) as opened:
        assert find_profile(opened.device.describe()) == profile
