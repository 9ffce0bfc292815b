"""Puts sampled program counters on the time line of the inferences they were taken in, a track for each thread."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from etprof.analysis.executed_code import describe_code
from etprof.analysis.kernel_counts import SampledBlock
from etprof.analysis.steady_runs import find_steady
from etprof.core.report import Report, Slice, Track
from etprof.core.samples import KernelSamples
from etprof.core.trace import EventKind, Trace

ArmKey = tuple[str, int]

_MOST_SAMPLES = 5_000


def add_sample_tracks(report: Report, sampled: Mapping[ArmKey, Sequence[SampledBlock]]) -> Report:
    """The report with a track for each sampled thread of each arm's first block, behind its recorded inferences."""
    added: list[Track] = []
    for arm in report.arms:
        blocks = sampled.get((arm.experiment, arm.threads), ())
        recorded = [track for track in report.tracks if track.arm == arm.label and track.inferences == 1]
        if blocks and recorded:
            added += build_sample_tracks(arm.label, *blocks[0], recorded[-1])
    return replace(report, tracks=(*report.tracks, *added))


def build_sample_tracks(arm: str, samples: KernelSamples, trace: Trace, recorded: Track) -> tuple[Track, ...]:
    """Samples of the block whose trace is given, as far as `recorded`, the track of that trace, reaches."""
    code = describe_code(samples)
    at_ns = samples.time_ns - _origin(trace)
    reach_ns = max(piece.start_ns + piece.duration_ns for piece in recorded.slices)
    seen = (at_ns >= 0) & (at_ns < reach_ns) & ~code.waits[samples.location]
    tracks = []
    for number in np.unique(samples.thread[seen]).tolist():
        chosen = np.flatnonzero(seen & (samples.thread == number))
        shown = chosen[np.argsort(at_ns[chosen], kind="stable")][:_MOST_SAMPLES]
        places = samples.location[shown]
        slices = tuple(
            Slice(code.names[function], code.classes[kind], "", 0, time, 0)
            for function, kind, time in zip(
                code.function[places].tolist(), code.instruction[places].tolist(), at_ns[shown].tolist(), strict=True
            )
        )
        name = f"{len(shown)} of {len(chosen)} kernel samples, thread {samples.threads[number]}"
        tracks.append(Track(arm, name, 1, slices, instants=True))
    return tuple(tracks)


def _origin(trace: Trace) -> int:
    """Where the recorded track of a trace begins: its first steady inference."""
    run = int(np.flatnonzero(find_steady(trace))[0])
    row = np.flatnonzero((trace.run == run) & (trace.kind == EventKind.EXECUTE))[0]
    return int(trace.start_ns[row])
