"""The trace file as a viewer reads it: slices nest, times are microseconds, and sums agree with the report's JSON."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from etprof.analysis.operators.timeline import build_tracks
from etprof.core.categories import DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD
from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.reports import FORMATS
from etprof.traces.etdump import read_etdump
from report_builder import FIRST, a_report, a_trace, emulated, hostile

ON = Variant("on", 1)
SMALL_CNN = Path(__file__).parents[1] / "data" / "traces" / "small_cnn.etdump"


def read_trace(report: Report) -> list[dict[str, Any]]:
    value = json.loads(FORMATS["trace"].render(report))
    assert value["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = value["traceEvents"]
    return events


def tracks_of(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] != "M":
            tracks[event["pid"], event["tid"]].append(event)
    return tracks


def assert_nested(slices: list[dict[str, Any]]) -> None:
    """Every slice ends, and lies inside the one it starts in."""
    open_until: list[int] = []
    for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        assert event["ph"] == "X"
        start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        assert end >= start >= 0
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or end <= open_until[-1]
        open_until.append(end)


@pytest.mark.parametrize("build", [a_report, hostile])
def test_slices_nest_on_every_track(build: Any, tmp_path: Path) -> None:
    tracks = tracks_of(read_trace(build(tmp_path)))
    assert len(tracks) == 4
    for slices in tracks.values():
        assert_nested(slices)


def test_every_track_and_variant_has_a_name(tmp_path: Path) -> None:
    events = read_trace(a_report(tmp_path))
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    variants = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert variants == ["off, 1 thread", "on, 1 thread"]
    assert set(named) == set(tracks_of(events))
    assert sorted(set(named.values())) == [
        "3 of 3 inferences as recorded in the first block",
        "mean of 3 traced inferences",
    ]


def test_sums_by_category_equal_those_of_the_json(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    variants = json.loads(FORMATS["json"].render(report))["variants"]
    for pid, variant in enumerate(variants, start=1):
        mean, recorded = (tracks_of(read_trace(report))[pid, tid] for tid in (1, 2))
        runs = variant["accounting"]["runs"]
        for row in variant["categories"]:
            if row["name"] not in (DELEGATE_OVERHEAD, FRAMEWORK_OVERHEAD):
                of_mean = sum(e["dur"] for e in mean if e["cat"] == row["name"])
                of_all = sum(e["dur"] for e in recorded if e["cat"] == row["name"])
                assert of_mean / 1000 == pytest.approx(row["mean_ms"], abs=1e-6 * len(mean))
                assert of_all * 1000 == pytest.approx(row["total_ns"], abs=0.5)
        whole = sum(e["dur"] for e in mean if e["name"] == "Method::execute")
        assert whole / 1000 == pytest.approx(variant["accounting"]["end_to_end_ns"] / runs / 1e6, rel=1e-6)


def test_operators_lie_in_their_delegate_call_and_portable_ones_in_theirs(tmp_path: Path) -> None:
    (mean, _) = build_tracks(ON, [a_trace(tmp_path, 1.0)])
    parents = {}
    stack: list[Any] = []
    for piece in mean.slices:
        del stack[piece.depth :]
        parents[piece.identity or piece.name] = stack[-1].name if stack else ""
        stack.append(piece)
    assert parents["d0.0"] == parents["d1.2"] == "DELEGATE_CALL"
    assert parents["p0"] == "OPERATOR_CALL"
    assert parents["DELEGATE_CALL"] == parents["OPERATOR_CALL"] == "Method::execute"


def test_a_call_shorter_than_its_operators_is_drawn_around_them(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 1.0)
    short = replace(trace, duration_ns=trace.duration_ns.copy())
    is_call = [trace.names[n] == "DELEGATE_CALL" for n in trace.name]
    short.duration_ns[is_call] -= 50_000
    (mean, _) = build_tracks(ON, [short])
    operators = [s for s in mean.slices if s.identity.startswith("d0")]
    assert sum(s.duration_ns for s in operators) >= sum(us for _, us in FIRST) * 1000
    events = [{"ph": "X", "ts": s.start_ns / 1000, "dur": s.duration_ns / 1000} for s in mean.slices]
    assert_nested(events)


def test_a_real_trace_nests_too() -> None:
    tracks = build_tracks(ON, [read_etdump(SMALL_CNN)])
    assert all(track.slices for track in tracks)
    assert tracks
    for track in tracks:
        assert_nested([{"ph": "X", "ts": s.start_ns / 1000, "dur": s.duration_ns / 1000} for s in track.slices])


def test_an_emulated_run_has_no_track_and_says_why(tmp_path: Path) -> None:
    value = json.loads(FORMATS["trace"].render(emulated(tmp_path)))
    assert value["traceEvents"] == []
    assert "emulated" in value["otherData"]["missing"]
