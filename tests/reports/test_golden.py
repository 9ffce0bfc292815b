"""The Markdown and the JSON of a fixed report are what they were; a change shows in the diff of the golden files.

Write them anew with `ETPROF_UPDATE_GOLDEN=1 pytest tests/reports/test_golden.py` and read the difference.
"""

import os
from pathlib import Path

import pytest

from etprof.reports import FORMATS
from report_builder import a_report

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(("name", "file"), [("md", "report.md"), ("json", "report.json"), ("csv", "report.csv")])
def test_the_format_is_what_its_golden_file_holds(name: str, file: str, tmp_path: Path) -> None:
    text = FORMATS[name](a_report(tmp_path))
    if os.environ.get("ETPROF_UPDATE_GOLDEN") == "1":
        (GOLDEN / file).write_text(text, encoding="utf-8")
    assert text == (GOLDEN / file).read_text(encoding="utf-8")
