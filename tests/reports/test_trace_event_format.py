"""Every event of trace.json keeps the rules of the Trace Event Format, whatever was measured."""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import a_loaded_run, a_result, a_session, paired_results
from delegate_traces import MS, a_parallel_inference, a_qnn_inference, a_vulkan_inference
from etdump_builder import Event
from etprof.analysis.report import build_report
from etprof.core.report import Report
from etprof.core.run import CpuState
from etprof.core.trace import EventKind
from etprof.reports import FORMATS
from report_builder import a_report, a_trace, hostile
from sample_builder import AVX512, place, samples
from trace_builder import read_inferences

Events = list[dict[str, Any]]
# The metadata that the format knows, and the argument of each.
METADATA = {
    "process_name": "name",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}
KERNEL = place(AVX512, "xnn_f32_gemm__avx512f")
CREATED = "2026-01-02T00:00:00+00:00"


def sampled(folder: Path) -> Report:
    """The model runs on thread 7; a second thread helps."""
    trace = a_trace(folder, 0.25)
    is_second = (trace.run == 1) & (trace.kind == EventKind.EXECUTE)
    begin = int(trace.start_ns[is_second][0])
    taken = [(begin + 5_000, KERNEL), (begin + 9_000, KERNEL)]
    content = samples(taken, "x86_64", threads=(7, 8), thread=np.array([0, 1], np.uint16), main_thread=7)
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    run = a_loaded_run(session, {"off": [trace], "on": [trace]}, sampled={"on": [(content, trace)]})
    return build_report(run, title="t", created_at=CREATED)


def watched(folder: Path) -> Report:
    """Blocks that say when they ran, how fast the cores were, and how warm."""
    results = tuple(
        a_result(
            name,
            index,
            started_at=f"2026-01-01T00:00:{2 * (2 * index + later):02d}+00:00",
            duration_s=2.5,
            cpu_before=CpuState(frequencies_khz={0: 1_800_000, 4: 2_400_000}, temperature_c=40.0 + index),
            cpu_after=CpuState(frequencies_khz={0: 1_800_000, 4: 2_000_000}),
        )
        for index in range(4)
        for later, name in enumerate(("off", "on"))
    )
    trace = a_trace(folder, 1.0)
    run = a_loaded_run(a_session(results=results), {"off": [trace], "on": [trace]})
    return build_report(run, title="t", created_at=CREATED)


def of_delegates(folder: Path) -> Report:
    """Vulkan's stages; and a call on another clock with a call of two streams behind it."""
    off = read_inferences(folder, *(a_vulkan_inference(100 * MS * run) for run in (1, 2, 3)))
    on = read_inferences(folder, *(two_calls(100 * MS * run) for run in (1, 2, 3)))
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    run = a_loaded_run(session, {"off": [off], "on": [on]})
    return build_report(run, title="t", created_at=CREATED)


def two_calls(start: int) -> tuple[Event, ...]:
    *first, whole = a_qnn_inference(start)
    second = (replace(event, instruction=1) for event in a_parallel_inference(start + 6 * MS)[:-1])
    return (*first, *second, replace(whole, end=start + 12 * MS))


BUILDERS: list[Callable[[Path], Report]] = [a_report, hostile, sampled, watched, of_delegates]


def read(report: Report) -> Events:
    value = json.loads(FORMATS["trace"].render(report))
    assert set(value) == {"displayTimeUnit", "otherData", "traceEvents"}
    events: Events = value["traceEvents"]
    return events


def assert_nested(slices: Events) -> None:
    open_until: list[int] = []
    for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
        start, end = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or end <= open_until[-1]
        open_until.append(end)


def assert_is_event(event: dict[str, Any]) -> None:
    assert {"ph", "pid", "tid", "ts", "name"} <= set(event)
    assert isinstance(event["name"], str)
    assert isinstance(event["pid"], int)
    assert isinstance(event["tid"], int)
    assert event["ts"] >= 0
    if event["ph"] == "M":
        assert METADATA[event["name"]] in event["args"]
    elif event["ph"] == "X":
        assert event["dur"] >= 0
    elif event["ph"] == "i":
        assert event["s"] == "t"
    else:
        assert event["ph"] == "C"
        assert event["args"]
        assert all(isinstance(value, float | int) for value in event["args"].values())


@pytest.mark.parametrize("build", BUILDERS)
def test_every_event_keeps_the_rules(build: Callable[[Path], Report], tmp_path: Path) -> None:
    events = read(build(tmp_path))
    assert events
    slices: dict[tuple[int, int], Events] = defaultdict(list)
    tracks = set()
    for event in events:
        assert_is_event(event)
        if event["ph"] in ("X", "i"):
            tracks.add((event["pid"], event["tid"]))
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append(event)
    named = [(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and e["ph"] == "M"]
    processes = [e["pid"] for e in events if e["name"] == "process_name" and e["ph"] == "M"]
    assert sorted(named) == sorted(tracks)
    assert sorted(processes) == sorted({event["pid"] for event in events})
    for own in slices.values():
        assert_nested(own)


def test_a_thread_has_one_track_with_its_operators_and_its_samples(tmp_path: Path) -> None:
    events = read(sampled(tmp_path))
    (pid,) = (e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"].startswith("on"))
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] == pid}
    assert list(names.values()) == [
        "mean of 3 traced inferences",
        "thread 7: 3 of 3 inferences as recorded in the first block; 1 of 1 kernel samples",
        "thread 8: 1 of 1 kernel samples",
    ]
    kinds = {tid: {e["ph"] for e in events if (e["pid"], e["tid"]) == (pid, tid)} for tid in names}
    assert list(kinds.values()) == [{"M", "X"}, {"M", "X", "i"}, {"M", "i"}]


def test_frequency_and_temperature_are_counters_of_the_whole_run(tmp_path: Path) -> None:
    events = read(watched(tmp_path))
    (pid,) = (e["pid"] for e in events if e["name"] == "process_name" and e["args"]["name"] == "the whole run")
    counters: dict[str, list[float]] = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            assert event["pid"] == pid
            counters[event["name"]] += event["args"].values()
    assert counters == {
        "frequency of core 0 (MHz)": [1800.0] * 16,
        "frequency of core 4 (MHz)": [2400.0, 2000.0] * 8,
        "temperature (°C)": [40.0, 40.0, 41.0, 41.0, 42.0, 42.0, 43.0, 43.0],
    }
    blocks = [e for e in events if e["ph"] == "X" and e["pid"] == pid]
    assert [block["name"] for block in blocks][:3] == ["off_t1, block 1", "on_t1, block 1", "off_t1, block 2"]
    # The starts are whole seconds, so that a block of 2.5 s seems to begin before the last one has ended.
    assert [block["ts"] for block in blocks][:3] == [0, 2_500_000, 5_000_000]


def test_stages_of_a_delegate_enclose_what_lies_in_them(tmp_path: Path) -> None:
    events = read(of_delegates(tmp_path))
    spans = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["pid"] == e["tid"] == 1}
    order = ["Method::execute", "DELEGATE_CALL", "ETVK_EXECUTE", "ETVK_COMPUTE_GRAPH_EXECUTE", "add"]
    for outer, inner in pairwise(order):
        assert spans[outer][0] <= spans[inner][0]
        assert spans[inner][1] <= spans[outer][1]


def test_operators_beside_others_have_tracks_and_those_on_another_clock_none(tmp_path: Path) -> None:
    events = read(of_delegates(tmp_path))
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    streams = {names[e["pid"], e["tid"]] for e in events if e["name"].startswith("stream")}
    assert streams == {f"operators that ran beside others, {n}" for n in (1, 2, 3)}
    assert not any("cycles" in event["name"] for event in events)
