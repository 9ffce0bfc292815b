"""peaks.json: what was saved is read, and a file that holds something else is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import StoreError
from etprof.store.peaks_file import load_peaks, save_peaks
from peaks_builder import some_peaks


def test_what_was_saved_is_read(tmp_path: Path) -> None:
    assert load_peaks(tmp_path) is None
    assert save_peaks(tmp_path, some_peaks()) == tmp_path / "peaks.json"
    assert load_peaks(tmp_path) == some_peaks()


def test_peaks_of_another_version_are_none(tmp_path: Path) -> None:
    path = save_peaks(tmp_path, some_peaks())
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 99}))
    assert load_peaks(tmp_path) is None


def _change(content: Any, *keys: Any, to: Any) -> Any:
    if not keys:
        return to
    copy = content.copy()
    copy[keys[0]] = _change(content[keys[0]], *keys[1:], to=to)
    return copy


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("architecture",), "riscv64"),
        (("throughputs",), "many"),
        (("throughputs", 0, "gmac_per_s", "value"), -1.0),
        (("throughputs", 0, "gmac_per_s", "high"), 1e999),
        (("bandwidths", 0, "gb_per_s", "low"), 1e6),
        ((), [1, 2]),
    ],
)
def test_a_damaged_file_is_named(keys: tuple[Any, ...], to: Any, tmp_path: Path) -> None:
    path = save_peaks(tmp_path, some_peaks())
    path.write_text(json.dumps(_change(json.loads(path.read_text()), *keys, to=to)))
    with pytest.raises(StoreError, match=r"peaks\.json"):
        load_peaks(tmp_path)


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "peaks.json").symlink_to(save_peaks(tmp_path / "elsewhere", some_peaks()))
    assert load_peaks(tmp_path / "run") is None
