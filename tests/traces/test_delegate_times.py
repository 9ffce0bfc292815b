"""Delegates other than XNNPACK: whatever they record, no time counts twice and no number is wrongly called a time."""

from pathlib import Path

import pytest

from delegate_traces import (
    MS,
    SHADERS,
    STAGES,
    a_described_inference,
    a_parallel_inference,
    a_qnn_inference,
    a_vulkan_inference,
)
from etdump_builder import Event
from etprof.analysis.operators.accounting import account_runs, build_accounting, build_categories
from etprof.analysis.operators.apart import list_apart
from etprof.analysis.operators.operator_statistics import build_operators, collect_operators
from etprof.core.categories import UNDIVIDED
from etprof.core.findings import FindingKind
from etprof.core.trace import EventKind, Trace
from trace_builder import RECORDED, an_inference, read_inferences, recorded

STARTS = (100 * MS, 200 * MS, 300 * MS)


def kinds(trace: Trace) -> dict[str, set[EventKind]]:
    found: dict[str, set[EventKind]] = {}
    for name, kind in zip(trace.name.tolist(), trace.kind.tolist(), strict=True):
        found.setdefault(trace.names[name], set()).add(EventKind(kind))
    return found


def assert_adds_up(trace: Trace) -> None:
    accounting = build_accounting([trace])
    rows = build_categories(collect_operators([trace]), accounting)
    assert sum(row.total_ns for row in rows) == accounting.end_to_end_ns
    runs = account_runs(trace)
    for part in (runs.delegated, runs.delegate_overhead, runs.framework_overhead, runs.undivided):
        assert (part >= 0).all()


def findings(trace: Trace) -> list[FindingKind]:
    assert all(finding.message in trace.notes for finding in trace.findings)
    return [finding.kind for finding in trace.findings]


def test_stages_that_enclose_shaders_are_not_added_to_them(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, *(a_vulkan_inference(start) for start in STARTS))
    found = kinds(trace)
    assert found[STAGES[1]] == found[STAGES[3]] == {EventKind.DELEGATE_STAGE}
    assert {name for name, kind in found.items() if kind == {EventKind.DELEGATED_OPERATOR}} == {
        *SHADERS, STAGES[0], STAGES[2],
    }  # fmt: skip
    rows = {row.name: row for row in build_operators([trace])}
    assert rows["add"].mean_ms == pytest.approx(2.0)
    assert sum(row.mean_ms for row in rows.values()) == pytest.approx(6.0 + 0.5 + 1.0)
    assert_adds_up(trace)
    assert build_accounting([trace]).undivided_ns == 0
    assert findings(trace) == [FindingKind.OPERATORS_NESTED]
    stages = {row.name: row.mean_ms for row in list_apart([trace]) if row.reason == "stage"}
    assert stages == {STAGES[1]: pytest.approx(7.0), STAGES[3]: pytest.approx(8.75)}


@pytest.mark.parametrize("offset", [-50 * MS, 3 * MS, 7 * 24 * 3600 * 1000 * MS])
def test_shaders_on_the_clock_of_the_gpu_have_no_time(tmp_path: Path, offset: int) -> None:
    """However far it is off: with 3 ms two of three shaders lie inside their call by chance."""
    trace = read_inferences(tmp_path, *(a_vulkan_inference(start, clock_offset=offset) for start in STARTS))
    found = kinds(trace)
    assert {name for name, kind in found.items() if kind == {EventKind.UNTIMED_OPERATOR}} >= set(SHADERS)
    assert not {row.name for row in build_operators([trace])} & set(SHADERS)
    assert {row.name for row in list_apart([trace]) if row.mean_ms is None} >= set(SHADERS)
    assert FindingKind.CLOCK_UNKNOWN in findings(trace)
    assert_adds_up(trace)


@pytest.mark.parametrize("ticks", [(1_200_000, 700_000, 400_000), (900, 700, 400), (9_000_000_000, 4, 0)])
def test_cycles_and_microseconds_from_zero_are_ticks_and_no_time(tmp_path: Path, ticks: tuple[int, ...]) -> None:
    trace = read_inferences(tmp_path, *(a_qnn_inference(start, ticks) for start in STARTS))
    assert build_operators([trace]) == ()
    rows = list_apart([trace])
    assert [(row.identity, row.mean_ticks, row.mean_ms, row.reason) for row in rows] == [
        (f"d0.{i}", value, None, "other clock") for i, value in enumerate(ticks)
    ]
    accounting = build_accounting([trace])
    assert accounting.undivided_ns == 2 * (5 * MS - 1000)
    assert accounting.delegate_overhead_ns == 0
    shares = {row.name: row.share for row in build_categories(collect_operators([trace]), accounting)}
    assert shares[UNDIVIDED] == pytest.approx((5 * MS - 1000) / (6 * MS))
    assert_adds_up(trace)
    assert findings(trace) == [FindingKind.CLOCK_UNKNOWN]


def test_operators_that_overlap_are_shown_and_not_added_up(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, *(a_parallel_inference(start) for start in STARTS))
    rows = list_apart([trace])
    assert [(row.reason, row.mean_ms) for row in rows] == [("overlapping", 3.0)] * 3
    assert build_accounting([trace]).undivided_ns == 2 * 5 * MS
    assert_adds_up(trace)
    assert findings(trace) == [FindingKind.OPERATORS_OVERLAP]


def test_a_call_that_is_as_usual_is_not_changed_by_one_that_is_not(tmp_path: Path) -> None:
    usual = an_inference([("Convolution (NHWC, F32) IGEMM #1", 50)])[:-1]
    odd = (Event("odd", 0, 7, 1, delegated=True), Event("DELEGATE_CALL", 200_000, 300_000, 1))
    trace = read_inferences(tmp_path, (*usual, *odd, Event("Method::execute", 0, 400_000)))
    (row,) = build_operators([trace])
    assert row.mean_ms == pytest.approx(0.05)
    assert build_accounting([trace]).delegate_overhead_ns == 3_000
    assert build_accounting([trace]).undivided_ns == 100_000
    assert_adds_up(trace)


def test_the_median_inference_decides_so_that_one_odd_one_does_not(tmp_path: Path) -> None:
    plain = [an_inference([("Conv #1", 50), ("Add #1", 10)], start_us=1000 * run) for run in range(9)]
    late = tuple(
        Event(e.name, e.start + 500_000, e.end + 500_000, e.instruction, delegated=True) if e.delegated else e
        for e in an_inference([("Conv #1", 50), ("Add #1", 10)], start_us=9000)
    )
    trace = read_inferences(tmp_path, *plain, late)
    assert not trace.is_apart.any()
    assert trace.signature_count == 1


def test_operators_outside_of_their_call_must_fit_their_inference(tmp_path: Path) -> None:
    stray = Event("stray", 0, 900, 7, delegated=True)
    trace = read_inferences(tmp_path, *((stray, *an_inference([("Add #1", 5)], start_us=at)) for at in (100, 200)))
    (row,) = list_apart([trace])
    assert (row.identity, row.mean_ticks) == ("x0", 900)
    assert_adds_up(trace)


def test_operators_of_no_length_lie_inside_no_other(tmp_path: Path) -> None:
    """XNNPACK's shortest operators take 0 us, at the border of two others."""
    trace = read_inferences(tmp_path, an_inference([("Conv #1", 5), ("Copy #1", 0), ("Conv #2", 5), ("Copy #2", 0)]))
    assert not trace.is_apart.any()


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_nothing_is_apart_in_a_recorded_trace(name: str) -> None:
    trace = recorded(name)
    assert not trace.is_apart.any()
    assert trace.findings == ()


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (b"xnn_f32_gemm_minmax_ukernel_6x8__asm\x0012", "xnn_f32_gemm_minmax_ukernel_6x8__asm; 12"),
        (b'{"schema": "executorch.vgf.neural_statistics"}', '{"schema": "executorch.vgf.neural_statistics"}'),
        (b"\x05", "0x05"),
        (b"A", "0x41"),
        (b"\xff\xfe\x00\x01", "0xfffe0001"),
        ("µkernel".encode(), "µkernel"),
        (b"", ""),
        (b"y" * 5000, "y" * 5000),
    ],
)
def test_metadata_is_kept_as_text(tmp_path: Path, metadata: bytes, text: str) -> None:
    trace = read_inferences(tmp_path, *(a_described_inference(start, metadata, b"other") for start in STARTS))
    first, second = collect_operators([trace])[0].metadata
    assert (first, second) == (text, "other")
    row = next(row for row in range(len(trace)) if trace.names[trace.name[row]] == "Convolution #1")
    assert trace.metadata.of(row) == text
    assert trace.metadata.of(row + 2) == ""


def test_a_shaders_json_is_its_name_and_its_metadata(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, *(a_vulkan_inference(start) for start in STARTS))
    (table,) = collect_operators([trace])
    texts = dict(zip(table.names, table.metadata, strict=True))
    assert texts["add"] == '{"kernel_name": "add", "operator_id": 41, "dispatch_id": 1}'
    assert texts[STAGES[0]] == ""
