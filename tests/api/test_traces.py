"""An ETDump by itself: its operators and categories as tables, and no time where a device was emulated."""

from pathlib import Path

import pytest

import etprof
from delegate_traces import MS, a_vulkan_inference
from etdump_builder import Allocation, Block, build_etdump
from report_builder import CONVOLUTION, a_trace
from scripted_device import a_runnable_plan


@pytest.fixture
def etdump(tmp_path: Path) -> Path:
    a_trace(tmp_path, 1.0)
    (path,) = tmp_path.glob("*.etdump")
    return path


def test_a_trace_gives_its_operators_the_slowest_first(etdump: Path) -> None:
    trace = etprof.read_trace(etdump)
    operators = trace.operators()
    assert operators[0]["name"] == CONVOLUTION
    assert operators[0]["identity"] == "d0.0"
    shares = [row["share"] for row in operators]
    assert shares == sorted(shares, reverse=True, key=lambda share: float(share or 0))
    assert operators.to_polars()["mean_ms"].sum() == pytest.approx(operators.to_pandas()["mean_ms"].sum())


def test_a_traces_latency_is_that_of_traced_inferences(etdump: Path) -> None:
    (row,) = etprof.read_trace(etdump).latency()
    assert row["is_traced"] is True
    assert float(row["min_ms"] or 0) <= float(row["median_ms"] or 0) <= float(row["max_ms"] or 0)


def test_a_traces_categories_add_up(etdump: Path) -> None:
    categories = etprof.read_trace(str(etdump)).categories()
    assert sum(float(row["share"] or 0) for row in categories) == pytest.approx(1.0)


def test_a_trace_says_what_it_holds(etdump: Path) -> None:
    trace = etprof.read_trace(etdump)
    assert trace.inference_count == 4
    assert trace.event_count == 4 * 11
    assert trace.notes == ()
    assert repr(trace) == f"<Trace {etdump}: 44 events, 4 inferences>"


def test_the_traces_of_a_folder_are_taken_together(etdump: Path) -> None:
    etdump.with_name("second.etdump").write_bytes(etdump.read_bytes())
    assert etprof.read_trace(etdump.parent).inference_count == 8


def test_a_trace_of_an_emulated_device_shows_no_time(tmp_path: Path, scripted: str) -> None:
    plan = a_runnable_plan(tmp_path, blocks=1)
    run = etprof.run_plan(plan, device=f"{scripted}:emulated")
    trace = etprof.read_trace(run.folder / "on")
    assert [row["name"] for row in trace.operators()] == [CONVOLUTION, "Transpose (ND, X32) #1"]
    for row in trace.operators():
        times = {column for column in row if column.endswith("_ms")} | {"share", "ceiling_speedup"}
        assert {row[column] for column in times} == {None}
        assert row["count"] == 1
    with pytest.raises(etprof.EtprofError, match="emulated"):
        trace.categories()


def test_a_file_that_is_not_a_trace_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "one.etdump").write_bytes(b"nothing")
    with pytest.raises(etprof.EtprofError, match=r"one\.etdump"):
        etprof.read_trace(tmp_path / "one.etdump")


def test_a_users_rules_decide_the_categories(etdump: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": [{"pattern": "^Convolution", "category": "GEMM", "subcategory": "mine"}]}')
    assert etprof.read_trace(etdump, rules=rules).operators()[0]["subcategory"] == "mine"


def test_events_in_no_sum_and_allocations_are_tables(tmp_path: Path) -> None:
    inferences: list[Block] = [("Execute", [Allocation(1, 64), *a_vulkan_inference(100 * MS * run)]) for run in (1, 2)]
    (tmp_path / "gpu.etdump").write_bytes(build_etdump(inferences, allocators=("method",)))
    trace = etprof.read_trace(tmp_path / "gpu.etdump")
    assert {(row["name"], row["reason"]) for row in trace.apart()} == {
        ("ETVK_COMPUTE_GRAPH_EXECUTE", "stage"),
        ("ETVK_EXECUTE", "stage"),
    }
    assert [(row["allocator"], row["bytes_per_inference"]) for row in trace.allocations()] == [("method", 64.0)]
    by_name = {row["name"]: row for row in trace.operators()}
    assert "dispatch_id" in str(by_name["add"]["metadata"])
