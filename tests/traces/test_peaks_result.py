"""A runner's answer to what its CPU can do: read, and not believed where it cannot be."""

from pathlib import Path
from typing import Any

import pytest

from etprof.core.errors import TraceError
from etprof.core.peaks import CheckedLoop, PassRates
from etprof.traces.peaks_result import read_peaks_result
from peaks_builder import CACHES, an_answer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "peaks.result.json"


def test_an_answer_is_read_without_what_nobody_knows(file: Path) -> None:
    file.write_text(an_answer(caches={**CACHES, "last level": 0, "L9": 5}))
    said = read_peaks_result(file)
    assert said.cache_bytes == {"L1": 32_768, "L2": 1_048_576}
    assert said.checked == (CheckedLoop("avx2_fp32", 2400, 19200, 19200),)
    assert said.passes == (
        PassRates("avx2_fp32", 1, (57.0, 30.0, 56.0)),
        PassRates("clock", 1, (3.5, 3.6, 3.6)),
        PassRates("L1", 1, (200.0, 210.0, 190.0), "read"),
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"measured": [{"loop": "clock", "threads": 1, "rates": [0.0]}]}, "measured.0.rates.0"),
        ({"measured": [{"loop": "clock", "threads": 1, "rates": [1e12]}]}, "measured.0.rates.0"),
        ({"measured": [{"loop": "clock", "threads": 1, "rates": []}]}, "measured.0.rates"),
        ({"measured": [{"loop": "clock", "threads": 0, "rates": [1.0]}]}, "measured.0.threads"),
        ({"checked": [{"name": "x", "instructions": -1, "macs": 0, "sum": 0}]}, "checked.0.instructions"),
        ({"caches": {"L1": "large"}}, "caches.L1"),
        ({"schema_version": 9}, "version 9"),
    ],
)
def test_an_answer_that_cannot_be_is_refused(changes: dict[str, Any], said: str, file: Path) -> None:
    file.write_text(an_answer(**changes))
    with pytest.raises(TraceError, match=said):
        read_peaks_result(file)


@pytest.mark.parametrize("text", ["", "not JSON", "[]", '{"schema_version": 1}', "NaN"])
def test_what_is_no_answer_is_refused(text: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(TraceError):
        read_peaks_result(file)


def test_a_runner_that_left_nothing_is_named(file: Path) -> None:
    with pytest.raises(TraceError, match=r"left no result file peaks\.result\.json"):
        read_peaks_result(file)
