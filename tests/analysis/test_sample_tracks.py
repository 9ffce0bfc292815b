"""Kernel samples lie on the time line of the inferences they were taken in."""

import json
from pathlib import Path

import numpy as np

from etprof.analysis.sample_tracks import add_sample_tracks
from etprof.core.samples import CodeLocation, KernelSamples
from etprof.core.trace import EventKind
from etprof.reports import FORMATS
from report_builder import a_report, a_trace

VFMADD_ZMM = bytes.fromhex("62f27d48b8c1")


def some_samples(time_ns: list[int], thread: list[int]) -> KernelSamples:
    """The second location waits in the operating system."""
    return KernelSamples(
        architecture="x86_64",
        interval_ns=1_000_000,
        start_ns=0,
        end_ns=0,
        dropped=0,
        overruns=0,
        main_thread=7,
        threads=(7, 8),
        libraries=("libexecutorch_backend_xnnpack.so",),
        kernel_names=(),
        locations=(
            CodeLocation(0, 64, 0, "xnn_f32_gemm__avx512f", VFMADD_ZMM.ljust(15, b"\x90"), False),
            CodeLocation(0, 128, 128, "wait", b"\x0f\x05".ljust(15, b"\x90"), True),
        ),
        time_ns=np.array(time_ns, np.int64),
        location=np.array([0] * (len(time_ns) - 1) + [1], np.uint32),
        thread=np.array(thread, np.uint16),
    )


def test_samples_become_moments_of_the_recorded_inferences(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    trace = a_trace(tmp_path, 0.25)
    second = int(trace.start_ns[(trace.run == 1) & (trace.kind == EventKind.EXECUTE)][0])
    samples = some_samples([second - 10, second + 5_000, second + 9_000, second + 7_000], [0, 0, 1, 0])
    changed = add_sample_tracks(report, {("on", 1): [(samples, trace)]})
    tracks = changed.tracks[len(report.tracks) :]
    assert [(track.arm, track.name) for track in tracks] == [
        ("on, 1 thread", "1 of 1 kernel samples, thread 7"),
        ("on, 1 thread", "1 of 1 kernel samples, thread 8"),
    ]
    assert [piece.start_ns for track in tracks for piece in track.slices] == [5_000, 9_000]
    events = [e for e in json.loads(FORMATS["trace"](changed))["traceEvents"] if e["ph"] == "i"]
    assert [(e["ts"], e["cat"]) for e in events] == [(5.0, "AVX-512"), (9.0, "AVX-512")]


def test_an_arm_without_samples_gets_no_track(tmp_path: Path) -> None:
    report = a_report(tmp_path)
    assert add_sample_tracks(report, {}) == report
