"""Timelines on disk: the promised columns, exact numbers, and the way back."""

import re
from pathlib import Path

import numpy as np
import pytest

from csv_rows import read_rows
from delegate_traces import MS, a_described_inference, a_qnn_inference
from etprof.analysis.operators.apart import list_apart
from etprof.analysis.operators.operator_statistics import build_operators
from etprof.app.trace_tables import write_timelines
from etprof.core.errors import StoreError
from etprof.core.trace import Trace
from etprof.store import timeline_files as files
from etprof.traces.etdump import read_etdump
from trace_builder import read_inferences

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data" / "traces"
TRACES = sorted(DATA.glob("*.etdump"))
PROMISED = "model_id, name, type, delegate_backend, start_us, end_us, duration_ms, pct_total, node_id, run_index, block"
COLUMN_TABLES = {
    "timeline": files.TIMELINE_COLUMNS,
    "ops_stats": files.OPS_STATS_COLUMNS,
    "category_summary": files.CATEGORY_COLUMNS,
    "operator_comparison": files.OPERATOR_COMPARISON_COLUMNS,
    "category_comparison": files.CATEGORY_COMPARISON_COLUMNS,
    "data_movement": files.MOVEMENT_COLUMNS,
    "transpose_pairs": files.PAIR_COLUMNS,
    "rollup": files.ROLLUP_COLUMNS,
    "rollup_comparison": files.ROLLUP_COMPARISON_COLUMNS,
}


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_timeline_read_back_is_the_trace_it_came_from(path: Path, tmp_path: Path) -> None:
    trace = read_etdump(path)
    every, first = write_timelines(tmp_path, path.stem, [trace])
    (loaded,) = files.load_timeline(every)
    assert_same(loaded, trace)
    assert len(files.load_timeline(first)[0]) == np.count_nonzero(trace.run == 0)


def test_a_timeline_of_several_processes_is_read_back_as_several_traces(tmp_path: Path) -> None:
    traces = [read_etdump(DATA / f"{name}.etdump") for name in ("small_cnn", "small_cnn", "failed_run")]
    every, first = write_timelines(tmp_path, "x", traces)
    for loaded, trace in zip(files.load_timeline(every), traces, strict=True):
        assert_same(loaded, trace)
    rows = read_rows(every)
    assert [int(row["run_index"]) for row in rows if row["type"] == "EXECUTE"] == list(range(13))
    assert {row["process"] for row in read_rows(first)} == {"0"}
    assert build_operators(files.load_timeline(every)) == build_operators(traces)


def assert_same(loaded: Trace, trace: Trace) -> None:
    for column in ("kind", "run", "delegate_call", "position", "instruction", "start_ns", "duration_ns", "signature"):
        assert getattr(loaded, column).tolist() == getattr(trace, column).tolist(), column
    assert [loaded.names[n] for n in loaded.name] == [trace.names[n] for n in trace.name]
    assert loaded.run_count == trace.run_count


def test_the_columns_users_read_come_first_and_in_their_order() -> None:
    assert ", ".join(files.TIMELINE_COLUMNS[:11]) == PROMISED


def test_names_keep_their_counter_and_containers_are_rows_of_their_own_kind(tmp_path: Path) -> None:
    trace = read_etdump(DATA / "small_cnn.etdump")
    rows = read_rows(write_timelines(tmp_path, "x", [trace])[0])
    kinds = {row["name"]: row["type"] for row in rows}
    assert kinds["Convolution (NHWC, F32) IGEMM #1"] == "DELEGATED_OPERATOR"
    assert kinds["DELEGATE_CALL"] == "DELEGATE_CALL"
    assert kinds["Method::execute"] == "EXECUTE"
    whole = [row for row in rows if row["type"] == "EXECUTE"]
    assert {row["pct_total"] for row in whole} == {"100.0000"}
    assert [row["cold"] for row in whole] == ["true"] + ["false"] * (len(whole) - 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no column 'model_id'"),
        ("a,b\n1,2\n", "has no column 'model_id'"),
        (",".join(files.TIMELINE_COLUMNS) + "\n", "holds no event"),
        (",".join(files.TIMELINE_COLUMNS) + "\n" + "x," * 18 + "x\n", "has an invalid field"),
    ],
)
def test_a_file_that_is_no_timeline_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(StoreError, match=message) as caught:
        files.load_timeline(path)
    assert caught.value.hint


@pytest.mark.parametrize("table", COLUMN_TABLES)
def test_the_document_describes_every_column_in_order(table: str) -> None:
    document = (TESTS.parent / "docs" / "reference" / "file-formats.md").read_text(encoding="utf-8")
    section = document.split(f"<!-- columns: {table} -->")[1].split("<!-- end -->")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == COLUMN_TABLES[table]


def test_events_on_another_clock_have_ticks_and_no_time_there_and_back(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, *(a_qnn_inference(start, (900, 700)) for start in (100 * MS, 200 * MS)))
    every, _ = write_timelines(tmp_path, "qnn", [trace])
    rows = [row for row in read_rows(every) if row["type"] == "UNTIMED_OPERATOR"]
    assert [row["ticks"] for row in rows] == ["900", "700"] * 2
    assert {row[column] for row in rows for column in ("start_us", "end_us", "duration_ms", "pct_total")} == {""}
    assert [row["identity"] for row in rows] == ["d0.0", "d0.1"] * 2
    (loaded,) = files.load_timeline(every)
    assert loaded.kind.tolist() == trace.kind.tolist()
    assert loaded.duration_ns.tolist() == trace.duration_ns.tolist()
    assert list_apart([loaded]) == list_apart([trace])


def test_metadata_is_in_the_timeline_there_and_back(tmp_path: Path) -> None:
    trace = read_inferences(tmp_path, a_described_inference(MS, b"kernel\x0007", b'a, "b"'))
    every, _ = write_timelines(tmp_path, "described", [trace])
    (loaded,) = files.load_timeline(every)
    assert [loaded.metadata.of(row) for row in range(3)] == ["kernel; 07", 'a, "b"', ""]


def test_a_timeline_without_the_later_columns_is_read(tmp_path: Path) -> None:
    every, _ = write_timelines(tmp_path, "cnn", [read_etdump(DATA / "small_cnn.etdump")])
    lines = [line.rsplit(",", 2)[0] for line in every.read_text().splitlines()]
    older = tmp_path / "older.csv"
    older.write_text("\n".join(lines) + "\n")
    (loaded,), (expected,) = files.load_timeline(older), files.load_timeline(every)
    assert loaded.duration_ns.tolist() == expected.duration_ns.tolist()
