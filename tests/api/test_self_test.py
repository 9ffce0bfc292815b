"""`etprof.self_test`: the checks as a table, and the report as a file."""

from pathlib import Path

import pytest

import etprof
from etprof.app import self_test


def test_each_check_is_a_row_and_the_report_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "installed_version", lambda _: None)
    monkeypatch.setenv("CXX", "no-such-compiler")
    table = etprof.self_test(out=tmp_path / "report.md")
    assert table.columns == ("check", "outcome", "found", "hint")
    rows = {row["check"]: row for row in table}
    assert (rows["runner"]["outcome"], rows["export"]["outcome"]) == ("fail", "not here")
    assert "Install g++" in str(rows["runner"]["hint"])
    assert "| runner | fail |" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_device_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(etprof.EtprofError, match="no device 'toaster'"):
        etprof.self_test("toaster")
