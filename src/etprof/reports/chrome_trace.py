"""The report's tracks in the Trace Event Format, which Perfetto and chrome://tracing open.

A process is a variant. Its first tracks are mean inferences; then comes a track for each thread that is known. The last
process is the run as a whole, with its blocks and counters, on a time line of its own.
"""

import json
from collections.abc import Iterator
from typing import Any

from etprof.core.report import Report, RunLine, Slice, Track
from etprof.core.units import NO_TIMES, NS_PER_US

# Category of slices that are not operators; an operator has the category of the report.
_CONTAINER = "container"


def render(report: Report) -> str:
    """One event a line, times in microseconds as the format wants them."""
    events = ",\n".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in _events(report))
    facts = {"title": report.title, "model": report.model, "created_at": report.created_at}
    missing = "" if report.tracks else _missing(report)
    other = json.dumps({**facts, **({"missing": missing} if missing else {})}, ensure_ascii=False)
    return f'{{"displayTimeUnit":"ms","otherData":{other},"traceEvents":[\n{events}\n]}}\n'


def _missing(report: Report) -> str:
    return "no block of this run recorded a trace" if report.times_are_real else NO_TIMES


def _events(report: Report) -> Iterator[dict[str, Any]]:
    variants = list(dict.fromkeys(track.variant for track in report.tracks))
    for pid, variant in enumerate(variants, start=1):
        yield from _name_process(pid, variant.label)
        threads = _group_by_thread([track for track in report.tracks if track.variant == variant])
        for tid, tracks in enumerate(threads, start=1):
            yield from _name_thread(pid, tid, _describe_thread(tracks))
            for track in tracks:
                yield from (_event(piece, track, pid, tid) for piece in track.slices)
    if report.run_line and report.tracks:
        yield from _run_events(report.run_line, len(variants) + 1)


def _group_by_thread(tracks: list[Track]) -> list[list[Track]]:
    """What one thread did is one track of the viewer; a track whose thread is not known is one by itself."""
    groups: dict[object, list[Track]] = {}
    for track in tracks:
        groups.setdefault(track.name if track.thread is None else track.thread, []).append(track)
    return list(groups.values())


def _describe_thread(tracks: list[Track]) -> str:
    names = "; ".join(track.name for track in tracks)
    return names if tracks[0].thread is None else f"thread {tracks[0].thread}: {names}"


def _name_process(pid: int, name: str) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "ts": 0, "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
    yield {"ph": "M", "ts": 0, "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}


def _name_thread(pid: int, tid: int, name: str) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "ts": 0, "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
    yield {"ph": "M", "ts": 0, "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}


def _event(piece: Slice, track: Track, pid: int, tid: int) -> dict[str, Any]:
    start = {"pid": pid, "tid": tid, "ts": piece.start_ns / NS_PER_US}
    if track.instants:
        return {"ph": "i", "s": "t", "name": piece.name, "cat": piece.category, **start}
    event = {"ph": "X", "name": piece.name, "cat": piece.category or _CONTAINER, **start}
    event["dur"] = piece.duration_ns / NS_PER_US
    if piece.identity:
        event["args"] = {"identity": piece.identity, "inferences": track.inferences}
    return event


def _run_events(line: RunLine, pid: int) -> Iterator[dict[str, Any]]:
    yield from _name_process(pid, "the whole run")
    yield from _name_thread(pid, 1, "blocks")
    for block in line.blocks:
        times = {"ts": block.start_ns / NS_PER_US, "dur": block.duration_ns / NS_PER_US}
        yield {"ph": "X", "name": block.name, "cat": block.category, "pid": pid, "tid": 1, **times}
    for counter in line.counters:
        name = f"{counter.name} ({counter.unit})"
        for at_ns, value in counter.points:
            at = {"pid": pid, "tid": 0, "ts": at_ns / NS_PER_US}
            yield {"ph": "C", "name": name, **at, "args": {counter.unit: value}}
