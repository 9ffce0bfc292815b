"""The forecast of a run: by hand for ratios that are known, and what is said where something is missing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import a_device_info, a_loaded_run, a_plan, a_session, paired_results
from etprof.analysis.predicted_kernels import predict_run
from etprof.analysis.report import RunAnalysis, analyze_run
from etprof.analysis.run_forecasts import ForecastInput, forecast_variant
from etprof.core.device_profile import DeviceProfile
from etprof.core.forecast import Forecast
from etprof.core.plan import Variant
from etprof.store.kernel_table_file import load_kernel_table
from peaks_builder import some_peaks
from profile_builder import a_profile, another_cpu
from report_builder import a_trace, the_graph

HIDDEN_FEATURES = ("avx512f",)


def analyze(folder: Path, *, graph: bool = True, traced: float = 1.0, **changes: Any) -> RunAnalysis:
    """The variants of `a_plan`, of which the one that hides AVX-512 is four times as slow in convolutions and GEMM.

    Traced iterations take `traced` times as long as others.
    """
    results = tuple(
        replace(
            each,
            features_hidden=HIDDEN_FEATURES if each.experiment == "off" else (),
            executorch_version="1.5.1",
            traced_ns=tuple(round(traced * ns) for ns in each.traced_ns),
        )
        for each in paired_results([4.8, 4.81, 4.79, 4.8], [2.0, 2.01, 1.99, 2.0])
    )
    traces = {"off": [a_trace(folder, 1.0)], "on": [a_trace(folder, 0.25)]}
    session = a_session(a_plan(), results, **changes)
    run = a_loaded_run(session, traces, graph=the_graph() if graph else None)
    return analyze_run(run, title="A run", created_at="2026-01-02T00:00:00+00:00")


def forecast(
    analysis: RunAnalysis, target: DeviceProfile, source: DeviceProfile | None, experiment: str = "off"
) -> Forecast:
    variant = Variant(experiment, 1)
    own = analysis.variants[variant]
    predicted = predict_run(analysis.run, {"1.5.1": load_kernel_table("1.5.1")}, {variant: own.nodes or {}})
    given = ForecastInput(
        analysis.report.of(variant), analysis.run.of(variant), own.nodes or {}, predicted.get(variant)
    )
    return forecast_variant(given, source, target)


def test_the_latency_follows_from_the_ratio_of_each_operator(tmp_path: Path) -> None:
    found = forecast(analyze(tmp_path), a_profile(peaks=some_peaks()), a_profile())
    by_name = {row.name: row for row in found.rows}
    convolution = by_name["Convolution (NHWC, F32) IGEMM #1"]
    assert convolution.expected_ms == pytest.approx(0.25 * convolution.measured_ms, rel=0.1)
    assert convolution.low_ms < convolution.expected_ms < convolution.high_ms
    transpose = by_name["Transpose (ND, X32) #1"]
    assert transpose.expected_ms == pytest.approx(transpose.measured_ms, rel=0.05)
    assert found.expected_ms is not None
    assert found.speedup is not None
    assert found.measured_ms is not None
    assert found.measured_ms == pytest.approx(4.8)
    # Of 4.79 ms the convolution has 3.0 and the linear layer 0.8; the others stay as they are.
    assert found.expected_ms.value == pytest.approx(4.8 * (3.0 * 0.25 + 0.8 * 0.5 + 0.99) / 4.79, rel=0.1)
    assert found.speedup.value == pytest.approx(found.measured_ms / found.expected_ms.value)
    assert found.expected_ms.low < found.expected_ms.value < found.expected_ms.high
    assert found.expected_ms.confidence == 0.9
    assert found.missing == ()


def test_what_the_tracer_adds_is_not_carried_over(tmp_path: Path) -> None:
    # The median of the traced iterations without the first is 1.005 of that of the others.
    costs = (1 / 1.005, 1.0005 / 1.005)
    plain, slowed = (forecast(analyze(tmp_path, traced=cost), a_profile(), a_profile()) for cost in costs)
    overheads = [next(p.measured_ms for p in found.shares if p.name == "Overhead") for found in (plain, slowed)]
    # Half a thousandth of 4.8 ms; the traces themselves are the same.
    assert overheads[0] - overheads[1] == pytest.approx(0.0024, abs=0.0001)
    assert plain.speedup is not None
    assert slowed.speedup is not None
    assert slowed.speedup.value > plain.speedup.value


def test_shares_add_up_and_begin_with_what_dominates_then(tmp_path: Path) -> None:
    found = forecast(analyze(tmp_path), a_profile(), a_profile())
    assert sum(part.share for part in found.shares) == pytest.approx(1.0)
    assert [part.expected_ms for part in found.shares] == sorted((p.expected_ms for p in found.shares), reverse=True)
    assert {part.name for part in found.shares} >= {"Convolution", "GEMM", "Data Movement", "Overhead"}
    assert found.deciding[0].name == "Convolution (NHWC, F32) IGEMM #1"


def test_a_cpu_twice_as_fast_takes_half_the_time_and_its_extension_is_told_apart(tmp_path: Path) -> None:
    target = a_profile(speed=2.0, device=another_cpu())
    found = forecast(analyze(tmp_path), target, a_profile(), "on")
    assert found.speedup is not None
    assert found.extension_speedup is not None
    assert found.speedup.value == pytest.approx(2.0, rel=0.05)
    assert found.extension == "AVX-512"
    # With AVX-512 hidden the same operators would take four times, twice or once as long.
    assert 1.3 < found.extension_speedup.value < 2.6


def test_the_same_cpu_and_level_changes_nothing(tmp_path: Path) -> None:
    found = forecast(analyze(tmp_path), a_profile(), a_profile(), "on")
    assert found.speedup is not None
    assert found.speedup.value == pytest.approx(1.0, rel=0.01)
    assert found.speedup.low < 1 < found.speedup.high


def test_the_ceiling_leaves_what_the_extension_cannot_touch(tmp_path: Path) -> None:
    """On x86 everything that is delegated is eligible; what is not, and the overhead, is left."""
    found = forecast(analyze(tmp_path), a_profile(), a_profile())
    left = sum(row.measured_ms for row in found.rows if not row.is_eligible)
    assert {row.name for row in found.rows if not row.is_eligible} == {"native_call_upsample_nearest2d.vec_out"}
    assert found.untouched_share is not None
    assert found.ceiling_speedup == pytest.approx(1 / found.untouched_share)
    assert found.untouched_share > left / 4.8


def test_of_sme2_only_operators_with_such_kernels_are_eligible(tmp_path: Path) -> None:
    phone = another_cpu(architecture="arm64", features=("neon", "dot", "i8mm", "sme", "sme2"))
    found = forecast(analyze(tmp_path), a_profile(device=phone), a_profile())
    assert found.extension == "SME2"
    assert {row.category for row in found.rows if row.is_eligible} <= {"Convolution", "GEMM"}
    assert any(row.is_eligible for row in found.rows)
    assert found.untouched_share is not None
    assert found.untouched_share > 0.15


def test_peaks_alone_bound_and_do_not_predict(tmp_path: Path) -> None:
    target = a_profile(operators=(), levels=(), peaks=some_peaks())
    found = forecast(analyze(tmp_path), target, a_profile())
    # 453 million multiply-adds of the convolution at 100 billion a second, and six megabytes at 50 GB/s.
    assert found.floor_ms == pytest.approx(4.53 + 0.126 + 0.021, abs=0.001)
    assert found.expected_ms is None
    assert found.speedup is None
    assert found.ceiling_speedup is not None
    assert "peaks only" in " ".join(found.missing)


@pytest.mark.parametrize(
    ("changes", "source", "said"),
    [
        ({}, None, "`etprof devices calibrate local`"),
        ({}, a_profile(operators=()), "`etprof devices calibrate local`"),
        ({"device": a_device_info(name="ssh:me@box")}, None, "`etprof devices calibrate ssh:me@box`"),
        ({"device": a_device_info(times_are_real=False)}, a_profile(), "emulated"),
        ({"graph": False}, a_profile(), "etprof export MODEL"),
        ({}, a_profile(threads=2), "--threads 1"),
        ({}, a_profile(probes=99), "version 99"),
        ({}, a_profile(levels=a_profile().levels[:1]), "--hide avx512`"),
    ],
)
def test_what_is_missing_is_said_with_the_command_that_brings_it(
    changes: dict[str, Any], source: DeviceProfile | None, said: str, tmp_path: Path
) -> None:
    found = forecast(analyze(tmp_path, **changes), a_profile(device=another_cpu()), source)
    assert found.expected_ms is None
    assert said in " ".join(found.missing)


def test_operators_that_take_a_microsecond_say_too_little(tmp_path: Path) -> None:
    analysis = analyze(tmp_path)
    variant = Variant("off", 1)
    report = analysis.report.of(variant)
    short = replace(report, operators=tuple(replace(row, median_ms=0.001) for row in report.operators))
    given = ForecastInput(short, analysis.run.of(variant), analysis.variants[variant].nodes or {}, None)
    found = forecast_variant(given, a_profile(), a_profile())
    assert found.expected_ms is None
    assert "whole ones" in found.missing[0]


def test_a_profile_without_peaks_has_no_bound_and_says_so(tmp_path: Path) -> None:
    found = forecast(analyze(tmp_path), a_profile(), a_profile())
    assert found.floor_ms is None
    assert forecast(analyze(tmp_path), a_profile(device=another_cpu()), a_profile()).missing
