"""The report's tracks in the Trace Event Format, which Perfetto and chrome://tracing open.

A process is a variant; its first threads are mean inferences, the others inferences as they were recorded.
"""

import json
from collections.abc import Iterator
from typing import Any

from etprof.core.report import Report, Track
from etprof.core.units import NO_TIMES

_NS_PER_US = 1000
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
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": variant.label}}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
        for tid, track in enumerate((track for track in report.tracks if track.variant == variant), start=1):
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": track.name}}
            yield {"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid, "args": {"sort_index": tid}}
            yield from _slices(track, pid, tid)


def _slices(track: Track, pid: int, tid: int) -> Iterator[dict[str, Any]]:
    for piece in track.slices:
        if track.instants:
            moment = {"ph": "i", "s": "t", "ts": piece.start_ns / _NS_PER_US}
            yield {**moment, "name": piece.name, "cat": piece.category, "pid": pid, "tid": tid}
            continue
        event: dict[str, Any] = {
            "ph": "X",
            "name": piece.name,
            "cat": piece.category or _CONTAINER,
            "pid": pid,
            "tid": tid,
            "ts": piece.start_ns / _NS_PER_US,
            "dur": piece.duration_ns / _NS_PER_US,
        }
        if piece.identity:
            event["args"] = {"identity": piece.identity, "inferences": track.inferences}
        yield event
