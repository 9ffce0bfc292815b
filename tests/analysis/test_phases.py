"""Phases of a workload: sums, verdicts, operators and kernels, each from runs whose times are known."""

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from builders import a_device_info
from etprof.core.estimates import Verdict
from etprof.core.findings import FindingKind
from etprof.core.phases import WHOLE, PhaseResult, Phases
from etprof.core.plan import Variant
from etprof.core.report import Report
from etprof.core.workload import MOST_TRACED
from workload_builder import (
    GAP_NS,
    GEMM,
    a_phase_report,
    a_workload,
    a_workload_run,
    analyze,
    with_samples,
)

OFF, ON = Variant("off", 1), Variant("on", 1)


def phases_of(report: Report) -> Phases:
    assert report.phases is not None
    return report.phases


def named(report: Report, name: str) -> PhaseResult:
    return next(row for row in phases_of(report).rows if row.name == name)


def test_a_run_without_a_workload_has_no_phases(tmp_path: Path) -> None:
    run = a_workload_run(tmp_path)
    plain = replace(run.session, programs=tuple(
        replace(each, program=replace(each.program, workload=None)) for each in run.session.programs
    ))  # fmt: skip
    run = replace(run, sessions=(plain,), variants=tuple(replace(v, session=plain, traces=()) for v in run.variants))
    assert analyze(run).phases is None


def test_every_phase_is_a_row_and_the_whole_sequence_one_more(tmp_path: Path) -> None:
    rows = phases_of(a_phase_report(tmp_path)).rows
    assert [(row.name, row.steps, row.tokens, row.is_whole) for row in rows] == [
        ("prefill", 1, 32, False),
        ("decode", 16, 1, False),
        (WHOLE, 17, 0, True),
    ]
    assert [each.variant for each in rows[0].variants] == [OFF, ON]


@pytest.mark.parametrize("repeats", [(1,), (7,), (1, 16), (3, 1, 2), (1,) * 50, tuple(range(1, 51))])
def test_steps_and_gaps_add_up_to_the_sequence_and_phases_to_the_whole(
    repeats: tuple[int, ...], tmp_path: Path
) -> None:
    workload = a_workload(*repeats)
    times = {name: [ms] * len(repeats) for name, ms in {"off": 1.0, "on": 0.5}.items()}
    run = a_workload_run(tmp_path, workload, times)
    report = analyze(run)
    *rows, whole = phases_of(report).rows
    for variant in (OFF, ON):
        own = [found for row in rows if (found := row.find(variant))]
        total = whole.find(variant)
        assert total is not None
        assert total.mean_ms is not None
        assert total.gaps_ms is not None
        assert len(own) == len(repeats)
        assert sum(each.mean_ms or 0 for each in own) + total.gaps_ms == pytest.approx(total.mean_ms, rel=1e-12)
        assert total.gaps_ms == pytest.approx(GAP_NS * sum(repeats) / 1e6)
        loaded = run.of(variant)
        measured = np.concatenate([result.latency_ns for result in loaded.results])
        assert total.mean_ms == pytest.approx(float(measured.mean()) / 1e6, rel=1e-12)
        assert sum(each.share or 0 for each in own) + total.gaps_ms / total.mean_ms == pytest.approx(1)
        # Traced time, to the nanosecond.
        assert total.accounting is not None
        accounts = [each.accounting for each in own if each.accounting]
        assert sum(each.end_to_end_ns for each in accounts) == total.accounting.end_to_end_ns
        assert sum(row.total_ns for row in total.categories) == total.accounting.end_to_end_ns
        for row in total.categories:
            assert row.total_ns == sum(c.total_ns for each in own for c in each.categories if c.name == row.name)
        for each in own:
            owned = sum(row.mean_ms for row in each.operators) * 1e6 * (each.accounting.runs if each.accounting else 0)
            assert each.accounting is not None
            assert owned == pytest.approx(each.accounting.delegated_ns + each.accounting.portable_ns)


def test_operators_of_the_variant_are_those_of_a_sequence(tmp_path: Path) -> None:
    report = a_phase_report(tmp_path)
    variant = report.of(ON)
    by_phase = [found for row in phases_of(report).rows if not row.is_whole and (found := row.find(ON))]
    steps = [1, 16]
    expected = {
        row.identity: row.mean_ms * count for each, count in zip(by_phase, steps, strict=True) for row in each.operators
    }
    assert {row.identity: row.mean_ms for row in variant.operators} == pytest.approx(expected)
    assert sum(row.mean_ms for row in variant.categories) == pytest.approx(
        sum(row.mean_ms * count for each, count in zip(by_phase, steps, strict=True) for row in each.categories)
    )
    assert {row.identity.kind for row in variant.operators} == {0, 1}
    # The GEMM takes 1600 us of each prefill and 720 us of each step of decode; the slow first sequence is left out.
    gemms = [next(row for row in each.operators if row.name == GEMM).mean_ms for each in by_phase]
    assert gemms == pytest.approx([1.6, 0.72])


def test_a_phase_that_was_traced_in_part_counts_with_all_of_its_steps(tmp_path: Path) -> None:
    workload = a_workload(1, 10 * MOST_TRACED)
    report = a_phase_report(tmp_path, workload=workload, times_ms={"off": (8.0, 0.1), "on": (2.0, 0.1)})
    variant = report.of(ON)
    first, second, whole = phases_of(report).rows
    assert variant.latency is not None
    assert variant.latency.tracer_cost is None
    parts = [first.find(ON), second.find(ON)]
    assert [part.traced_steps for part in parts if part] == [2, 2 * MOST_TRACED]
    gemm = sum(row.mean_ms for row in variant.operators if row.name == GEMM)
    assert gemm == pytest.approx(1.6 + 10 * MOST_TRACED * 0.08)
    assert whole.find(ON)
    assert variant.accounting
    assert variant.accounting.per_run_ms(variant.accounting.end_to_end_ns) == pytest.approx(
        sum(row.mean_ms for row in variant.categories)
    )


def test_each_phase_has_its_own_verdict_and_the_whole_that_of_the_pair(tmp_path: Path) -> None:
    report = a_phase_report(tmp_path, times_ms={"off": (8.0, 1.0), "on": (2.0, 1.0)})
    (prefill,), (decode,), (whole,) = (row.comparisons for row in phases_of(report).rows)
    assert prefill.verdict is Verdict.FASTER
    assert prefill.speedup is not None
    assert prefill.speedup.value == pytest.approx(4.0, rel=0.01)
    assert decode.verdict in (Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE)
    assert (whole.speedup, whole.verdict) == (report.comparisons[0].speedup, report.comparisons[0].verdict)


def test_verdicts_on_phases_are_corrected_for_their_number(tmp_path: Path) -> None:
    workload = a_workload(*[2] * 20)
    report = a_phase_report(
        tmp_path, workload=workload, times_ms={"off": [1.0] * 20, "on": [0.5] * 20}, with_traces=False
    )
    phases = phases_of(report)
    assert phases.comparisons == 20
    confidences = {each.speedup.confidence for row in phases.rows[:-1] for each in row.comparisons if each.speedup}
    assert min(confidences) == pytest.approx(0.95)
    assert max(confidences) == pytest.approx(1 - 0.05 / 20)


def test_equal_phases_are_rarely_called_different(tmp_path: Path) -> None:
    """Of 30 runs of 10 phases each, without correction a dozen would hold a false verdict."""
    workload = a_workload(*[2] * 10)
    wrong = 0
    for seed in range(30):
        report = a_phase_report(
            tmp_path, workload=workload, times_ms={"off": [1.0] * 10, "on": [1.0] * 10}, with_traces=False,
            noise=0.01, seed=1000 * seed,
        )  # fmt: skip
        verdicts = [each.verdict for row in phases_of(report).rows[:-1] for each in row.comparisons]
        wrong += any(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)
    assert wrong <= 4


def test_with_two_blocks_everything_is_inconclusive_and_nothing_fails(tmp_path: Path) -> None:
    report = a_phase_report(tmp_path, blocks=2)
    for row in phases_of(report).rows:
        assert {each.verdict for each in row.comparisons} == {Verdict.INCONCLUSIVE}
        assert all(each.step is None and each.sequence is None and each.sequence_ms for each in row.variants)


def test_kernels_are_told_by_phase(tmp_path: Path) -> None:
    report = analyze(with_samples(a_workload_run(tmp_path)))
    kernels = {row.name: row.find(ON) for row in phases_of(report).rows}
    prefill, decode = kernels["prefill"], kernels["decode"]
    assert prefill
    assert prefill.kernels
    assert decode
    assert decode.kernels
    assert prefill.kernels.verdict.startswith("SME2 executed: yes, in 1 of 1 Convolution/GEMM operators, 100.0 %")
    assert decode.kernels.verdict.startswith("SME2 executed: no, in none of 1 Convolution/GEMM operators")
    used = {name: [k.instruction_class for row in v.operators for k in row.kernels] for name, v in kernels.items() if v}
    assert used == {"prefill": ["SME"], "decode": ["NEON"], WHOLE: []}


def test_an_emulated_run_has_kernels_and_no_times(tmp_path: Path) -> None:
    run = with_samples(a_workload_run(tmp_path, device=a_device_info(times_are_real=False)))
    report = analyze(run)
    for row in phases_of(report).rows:
        for each in row.variants:
            assert (each.step_ms, each.sequence_ms, each.mean_ms, each.share, each.gaps_ms) == (None,) * 5
            assert each.curve is None
            assert not each.categories
            assert not each.operators
        assert [each.reason for each in row.comparisons] == ["emulated times cannot be compared"]
    prefill = named(report, "prefill").find(ON)
    assert prefill
    assert prefill.kernels
    assert prefill.kernels.verdict.startswith("SME2 executed: yes")


def test_a_trace_that_ends_in_a_sequence_is_a_finding(tmp_path: Path) -> None:
    run = a_workload_run(tmp_path)
    unmarked = tuple(
        replace(v, traces=tuple(replace(t, phase=None, cold=None) for t in v.traces)) for v in run.variants
    )
    report = analyze(replace(run, variants=unmarked))
    assert [f.message for f in report.findings if f.kind is FindingKind.INCOMPLETE] == [
        f"{name}, 1 thread: a trace does not hold whole sequences; its operators have no phases."
        for name in ("off", "on")
    ]
    assert all(not each.operators for row in phases_of(report).rows for each in row.variants)


def test_ten_thousand_steps_need_no_object_for_each(tmp_path: Path) -> None:
    workload = a_workload(1, 10_000)
    times = {"off": (8.0, 0.1), "on": (2.0, 0.1)}
    run = a_workload_run(tmp_path, workload, times, blocks=3, sequences=20, with_traces=False)
    # What is computed once and kept, for every run.
    analyze(a_workload_run(tmp_path, with_traces=False))
    tracemalloc.start()
    analyze(run)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # One block as floating-point numbers, sorted; an object for each of 1.2 million steps would be 38 MB.
    assert peak < 8_000_000


def test_ten_thousand_steps_make_a_small_record(tmp_path: Path) -> None:
    workload = a_workload(1, 10_000)
    report = a_phase_report(tmp_path, workload=workload, times_ms={"off": (8.0, 0.1), "on": (2.0, 0.1)}, blocks=3)
    decode = phases_of(report).rows[1].find(ON)
    assert decode
    assert decode.curve
    assert len(decode.curve.median_ms) <= 120
    assert decode.curve.first_steps[-1] < 10_000 <= decode.curve.first_steps[-1] + 100
