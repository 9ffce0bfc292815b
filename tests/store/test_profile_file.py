"""Profiles: what was saved is read, and a stranger's file that holds something else is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import StoreError
from etprof.store.profile_file import load_profile, save_profile
from peaks_builder import some_peaks
from profile_builder import a_profile

EVERY_TIME = ("operators", 0, "times_us", "everything shown")


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    for profile in (a_profile(), a_profile(peaks=some_peaks()), a_profile(operators=(), levels=(), peaks=some_peaks())):
        save_profile(path, profile)
        assert load_profile(path) == profile


def _change(content: Any, *keys: Any, to: Any) -> Any:
    if not keys:
        return to
    copy = content.copy()
    copy[keys[0]] = _change(content[keys[0]], *keys[1:], to=to)
    return copy


@pytest.mark.parametrize(
    ("keys", "to", "said"),
    [
        ((), [1], "is not the profile of a device"),
        ((), {"variants": []}, "is not the profile of a device"),
        (("schema_version",), 99, "version '99'"),
        (("operators",), "many", "is damaged: operators"),
        ((*EVERY_TIME, "value"), -1.0, "cannot be"),
        ((*EVERY_TIME, "value"), 0.0, "cannot be"),
        ((*EVERY_TIME, "high"), 1e999, "cannot be"),
        ((*EVERY_TIME, "low"), float("nan"), "cannot be"),
        (("operators", 0, "times_us"), {}, "cannot be"),
        (("operators", 0, "extent", "rows"), 0, "cannot be"),
        (("operators", 0, "extent", "columns"), 10**30, "cannot be"),
        (("operators", 0, "probe"), "x" * 1000, "cannot be"),
        (("operators", 1, "probe"), "fp32/convolution/64x64", "have one name"),
        (("levels", 1, "name"), "everything shown", "have one name"),
        (("threads",), 0, "not positive"),
        (("peaks", "architecture"), "riscv64", "its peaks cannot be"),
    ],
)
def test_a_damaged_file_is_named(keys: tuple[Any, ...], to: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    save_profile(path, a_profile(peaks=some_peaks()))
    path.write_text(json.dumps(_change(json.loads(path.read_text()), *keys, to=to)))
    with pytest.raises(StoreError, match=r"profile\.json") as caught:
        load_profile(path)
    assert said in caught.value.message
    assert "etprof devices calibrate" in caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no file"):
        load_profile(tmp_path / "none.json")
