"""Every format of a fixed report is what it was; a change shows in the diff of the golden files.

Write them again with `ETPROF_UPDATE_GOLDEN=1 pytest tests/reports/test_golden.py`, and read the difference.
"""

import base64
import gzip
import os
import re
from pathlib import Path

import pytest

from etprof.core.report import Report
from etprof.reports import FORMATS
from etprof.reports.json import render_compact
from report_builder import a_report, with_kernels

GOLDEN = Path(__file__).parent / "golden"
FILES = {name: each.file or f"{name}.txt" for name, each in FORMATS.items()}
# The data inside a page: compressed bytes differ between versions of zlib, and would tell a reader nothing.
_DATA = re.compile(r'(?<=id="data">)[^<]+')
# Sums of floating-point numbers differ in their last digits between CPUs.
_LONG_NUMBER = re.compile(r"-?\d+\.\d{10,}(e-?\d+)?")


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return with_kernels(a_report(tmp_path))


def test_every_format_has_its_golden_file_and_no_other_is_there() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(FILES.values())


@pytest.mark.parametrize("name", FORMATS)
def test_the_format_is_what_its_golden_file_holds(name: str, report: Report) -> None:
    text = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.10g}", _DATA.sub("", FORMATS[name].render(report)))
    path = GOLDEN / FILES[name]
    if os.environ.get("ETPROF_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_the_data_inside_the_page_is_the_reports_json(report: Report) -> None:
    (packed,) = _DATA.findall(FORMATS["html"].render(report))
    assert gzip.decompress(base64.b64decode(packed)).decode() == render_compact(report)
