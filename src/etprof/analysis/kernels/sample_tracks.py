"""Puts sampled program counters on the time line of the inferences they were taken in, a track for each thread."""

import numpy as np

from etprof.analysis.kernels.executed_code import describe_code
from etprof.core.plan import Variant
from etprof.core.report import Slice, Track
from etprof.core.samples import KernelSamples
from etprof.core.trace import EventKind, Trace

_MOST_SAMPLES = 5_000


def build_sample_tracks(variant: Variant, samples: KernelSamples, trace: Trace, recorded: Track) -> tuple[Track, ...]:
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
        name = f"{len(shown)} of {len(chosen)} kernel samples"
        tracks.append(Track(variant, name, 1, slices, instants=True, thread=samples.threads[number]))
    return tuple(tracks)


def _origin(trace: Trace) -> int:
    """Where the recorded track of a trace begins: its first steady inference."""
    run = int(np.flatnonzero(trace.is_steady)[0])
    row = np.flatnonzero((trace.run == run) & (trace.kind == EventKind.EXECUTE))[0]
    return int(trace.start_ns[row])
