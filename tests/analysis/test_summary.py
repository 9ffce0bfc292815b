"""The report's numbers follow from the session and its traces: change those, and they change."""

from pathlib import Path

import numpy as np
import pytest

from builders import a_session, paired_results
from etdump_builder import Event, build_etdump
from etprof.analysis.summary import build_report
from etprof.core.report import Report, Verdict
from etprof.core.trace import Trace
from etprof.traces.etdump import read_etdump

CONVOLUTION = "Convolution (NHWC, F32) IGEMM #1"
TRANSPOSE = "Transpose (ND, X32) #1"


def a_trace(folder: Path, convolution_us: int, transpose_us: int) -> Trace:
    """Three inferences of two operators, with 3 us in the delegate and 2 us in the framework that nobody owns."""
    events = []
    for run in range(3):
        start = (run + 1) * 10_000_000
        middle = start + convolution_us * 1000
        end = middle + transpose_us * 1000
        events += [
            Event(CONVOLUTION, start, middle, delegated=True),
            Event(TRANSPOSE, middle, end, delegated=True),
            Event("DELEGATE_CALL", start, end + 3000),
            Event("Method::execute", start, end + 5000),
        ]
    path = folder / f"{convolution_us}.etdump"
    path.write_bytes(build_etdump([("Execute", events)]))
    return read_etdump(path)


@pytest.fixture
def report(tmp_path: Path) -> Report:
    traces = {("off", 1): [a_trace(tmp_path, 3000, 900)], ("on", 1): [a_trace(tmp_path, 500, 900)]}
    results = paired_results([4.0, 4.01, 3.99, 4.0], [1.5, 1.51, 1.49, 1.5])
    return build_report(a_session(results=results), traces, {}, title="t", created_at="now")


def test_the_speed_up_is_that_of_the_block_medians(report: Report) -> None:
    (comparison,) = report.comparisons
    assert comparison.speedup is not None
    assert comparison.speedup.value == pytest.approx(4.0 / 1.5, rel=1e-3)
    assert comparison.speedup.low < comparison.speedup.value < comparison.speedup.high
    assert comparison.verdict is Verdict.FASTER


def test_the_bottleneck_before_and_after_is_the_largest_row(report: Report) -> None:
    (comparison,) = report.comparisons
    assert (comparison.bottleneck_before, comparison.bottleneck_after) == ("Convolution", "Data Movement")


def test_category_rows_add_up_to_the_end_to_end_time(report: Report) -> None:
    for arm in report.arms:
        assert arm.accounting is not None
        assert sum(row.total_ns for row in arm.categories) == arm.accounting.end_to_end_ns
        assert sum(row.share for row in arm.categories) == pytest.approx(1.0)
    rows = {row.name: row.mean_ms for row in report.arms[0].categories}
    assert rows["Convolution"] == pytest.approx(3.0)
    assert rows["Data Movement"] == pytest.approx(0.9)
    assert rows["Delegate overhead"] == pytest.approx(0.003)
    assert rows["Framework overhead"] == pytest.approx(0.002)


def test_category_speed_ups_are_those_of_the_traces(report: Report) -> None:
    shifts = {shift.name: shift.speedup for shift in report.comparisons[0].categories}
    assert shifts["Convolution"] == pytest.approx(6.0)
    assert shifts["Data Movement"] == pytest.approx(1.0)


def test_an_arm_without_a_trace_still_has_its_latency() -> None:
    report = build_report(a_session(results=paired_results([4.0] * 4, [2.0] * 4)), {}, {}, title="t", created_at="now")
    assert report.arms[0].latency is not None
    assert report.arms[0].categories == ()
    assert report.comparisons[0].bottleneck_before == ""


def test_an_arm_of_which_no_block_ended_well_has_no_outputs_that_differ() -> None:
    results = tuple(r for r in paired_results([4.0], [1.5]) if r.experiment == "off")
    outputs = {("off", 1): (np.ones(2),)}
    report = build_report(a_session(results=results), {}, outputs, title="t", created_at="now")
    assert report.comparisons[0].output_difference is None
    assert "outputs differ" not in {finding.kind for finding in report.findings}
