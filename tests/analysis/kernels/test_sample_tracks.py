"""Kernel samples lie on the time line of the inferences they were taken in."""

import json
from pathlib import Path

import numpy as np

from builders import a_loaded_run, a_session, paired_results
from etprof.analysis.kernels.sample_tracks import build_sample_tracks
from etprof.analysis.operators.timeline import build_tracks
from etprof.analysis.report import build_report
from etprof.core.plan import Variant
from etprof.core.report import Track
from etprof.core.samples import KernelSamples
from etprof.core.trace import EventKind, Trace
from etprof.reports import FORMATS
from report_builder import a_trace
from sample_builder import AVX512, X86_SCALAR, place, samples

ON = Variant("on", 1)
KERNEL, WAITING = place(AVX512, "xnn_f32_gemm__avx512f"), place(X86_SCALAR, "wait", in_system=True)


def second_inference(trace: Trace) -> int:
    """The first steady one: where the recorded track begins."""
    return int(trace.start_ns[(trace.run == 1) & (trace.kind == EventKind.EXECUTE)][0])


def some_samples(trace: Trace) -> KernelSamples:
    """Before the track begins; on it, on two threads; and waiting."""
    begin = second_inference(trace)
    taken = [(begin - 10, KERNEL), (begin + 9_000, KERNEL), (begin + 5_000, KERNEL), (begin + 7_000, WAITING)]
    return samples(taken, "x86_64", threads=(7, 8), thread=np.array([0, 1, 0, 0], np.uint16))


def build(trace: Trace, content: KernelSamples) -> tuple[Track, ...]:
    return build_sample_tracks(ON, content, trace, build_tracks(ON, [trace])[-1])


def test_samples_become_moments_of_the_recorded_inferences(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 0.25)
    tracks = build(trace, some_samples(trace))
    assert [(track.variant, track.name, track.instants, track.thread) for track in tracks] == [
        (ON, "1 of 1 kernel samples", True, 7),
        (ON, "1 of 1 kernel samples", True, 8),
    ]
    assert [[(s.name, s.category, s.start_ns, s.duration_ns) for s in track.slices] for track in tracks] == [
        [("xnn_f32_gemm__avx512f", "AVX-512", 5_000, 0)],
        [("xnn_f32_gemm__avx512f", "AVX-512", 9_000, 0)],
    ]


def test_samples_after_the_end_of_the_track_are_not_on_it(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 0.25)
    late = second_inference(trace) + 10**9
    assert build(trace, samples([(late, KERNEL)], "x86_64")) == ()


def test_of_very_many_samples_the_earliest_are_shown(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 0.25)
    begin = second_inference(trace)
    (track,) = build(trace, samples([(begin + at, KERNEL) for at in reversed(range(6_000))], "x86_64"))
    assert track.name == "5000 of 6000 kernel samples"
    assert [piece.start_ns for piece in track.slices] == list(range(5_000))


def test_a_report_has_the_tracks_of_the_variant_that_was_sampled_and_of_no_other(tmp_path: Path) -> None:
    trace = a_trace(tmp_path, 0.25)
    session = a_session(results=paired_results([4.8] * 4, [2.0] * 4))
    run = a_loaded_run(session, {"off": [trace], "on": [trace]}, sampled={"on": [(some_samples(trace), trace)]})
    report = build_report(run, title="t", created_at="now")
    assert [track.variant for track in report.tracks if track.instants] == [ON, ON]
    events = [e for e in json.loads(FORMATS["trace"].render(report))["traceEvents"] if e["ph"] == "i"]
    assert [(e["ts"], e["cat"]) for e in events] == [(5.0, "AVX-512"), (9.0, "AVX-512")]
