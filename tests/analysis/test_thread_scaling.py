"""The thread counts of a run: its curves, what stops scaling, and runs that have none."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import a_device_info, a_loaded_run, a_plan, a_result, a_session, paired_results
from etprof.analysis.thread_scaling import build_scaling
from etprof.core.estimates import Verdict
from etprof.core.loaded_run import LoadedRun
from etprof.core.plan import Pair, Plan
from etprof.core.run import BlockResult, SmeUnits
from etprof.core.scaling import Scaling, StepEffect
from report_builder import THREAD_TIMES, a_report, at_thread_counts


def scaling_of(folder: Path) -> Scaling:
    scaling = at_thread_counts(folder).scaling
    assert scaling is not None
    return scaling


def blocks_at(name: str, times_ms: dict[int, float], rounds: int = 6) -> tuple[BlockResult, ...]:
    return tuple(
        a_result(name, index, ms * (1 + 0.001 * (index % 2)), threads=threads)
        for index in range(rounds)
        for threads, ms in times_ms.items()
    )


def one_experiment(*threads: int) -> Plan:
    plan = a_plan(blocks=6)
    return replace(plan, experiments=(replace(plan.experiments[1], threads=threads),), pairs=())


def a_run(plan: Plan, results: tuple[BlockResult, ...]) -> LoadedRun:
    return a_loaded_run(a_session(plan, results))


def test_a_run_at_several_thread_counts_has_its_answers(tmp_path: Path) -> None:
    scaling = scaling_of(tmp_path)
    off, on = scaling.curves
    assert (off.experiment, off.best, off.undecided, off.limit) == ("off", 4, (), None)
    assert (on.experiment, on.best, on.undecided) == ("on", 2, ())
    assert on.limit is not None
    assert (on.limit.fewer, on.limit.more, on.limit.effect) == (2, 4, StepEffect.LOSES)
    (crossover,) = scaling.crossovers
    assert (crossover.baseline, crossover.candidate, crossover.threads) == ("off", "on", 4)
    assert [each.verdict for each in crossover.counts] == [Verdict.FASTER, Verdict.FASTER, Verdict.SLOWER]


def test_every_comparison_is_counted_and_the_device_is_known(tmp_path: Path) -> None:
    scaling = scaling_of(tmp_path)
    assert scaling.comparisons == 3 + 3 + 3, "every two counts of each, and the pair at each count"
    assert (scaling.usable_cores, scaling.equivalence_bound, scaling.confidence) == (4, 0.02, 0.95)
    assert scaling.sme_units == SmeUnits(2, is_shared=True, cores=((0, 1), (2, 3)))


def test_the_parts_of_a_curve_show_what_stops_scaling(tmp_path: Path) -> None:
    off, on = scaling_of(tmp_path).curves
    assert [part.name for part in on.parts] == ["Matrix work", "Data movement", "Other operators", "Overhead"]
    matrix, movement, *_ = on.parts
    assert matrix.times_ms[1] < matrix.times_ms[0] < matrix.times_ms[2]
    assert movement.times_ms == pytest.approx((movement.times_ms[0],) * 3)
    assert movement.serial_share is not None
    assert movement.serial_share.value == pytest.approx(1.0)
    assert on.limiting_part == "Matrix work"
    # Matrix work of "off" is divided by its threads; the operators that move data take as long as before.
    assert off.limiting_part == "Data movement"
    assert off.parts[0].serial_share is not None
    assert off.parts[0].serial_share.value == pytest.approx(0.0, abs=0.01)


def test_a_part_of_a_curve_is_the_sum_of_its_categories(tmp_path: Path) -> None:
    report = at_thread_counts(tmp_path)
    assert report.scaling is not None
    for curve in report.scaling.curves:
        for place, threads in enumerate(THREAD_TIMES[curve.experiment]):
            variant = next(v for v in report.variants if (v.experiment, v.threads) == (curve.experiment, threads))
            whole = sum(row.mean_ms for row in variant.categories)
            assert sum(part.times_ms[place] for part in curve.parts) == pytest.approx(whole)


def test_one_experiment_without_a_pair_has_a_curve() -> None:
    scaling = build_scaling(a_run(one_experiment(1, 2), blocks_at("on", {1: 4.0, 2: 2.1})))
    assert scaling is not None
    (curve,) = scaling.curves
    assert (curve.best, curve.parts, scaling.crossovers, scaling.comparisons) == (2, (), (), 1)


def test_a_thread_count_whose_blocks_all_failed_is_left_out() -> None:
    results = blocks_at("on", {1: 4.0, 2: 2.1})
    failed = tuple(a_result("on", i, threads=4, error="no core", latency_ns=()) for i in range(2))
    scaling = build_scaling(a_run(one_experiment(1, 2, 4), results + failed))
    assert scaling is not None
    assert [point.threads for point in scaling.curves[0].points] == [1, 2]
    assert build_scaling(a_run(one_experiment(1, 4), blocks_at("on", {1: 4.0}) + failed)) is None


def test_pairs_across_thread_counts_are_no_crossover() -> None:
    plan = replace(one_experiment(1, 2), pairs=(Pair("on", "on", 1, 2),))
    scaling = build_scaling(a_run(plan, blocks_at("on", {1: 4.0, 2: 2.1})))
    assert scaling is not None
    assert scaling.crossovers == ()


def test_runs_at_one_thread_count_and_emulated_ones_have_no_section(tmp_path: Path) -> None:
    assert a_report(tmp_path).scaling is None
    assert build_scaling(a_run(a_plan(), paired_results([4.0] * 3, [2.0] * 3))) is None
    session = a_session(
        one_experiment(1, 2), blocks_at("on", {1: 4.0, 2: 2.1}), device=a_device_info(times_are_real=False)
    )
    assert build_scaling(a_loaded_run(session)) is None
